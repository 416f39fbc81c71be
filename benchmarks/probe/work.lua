-- What the worker of the benchmark does for a request.
local _M = {}

local function mix(a, i) return (a * 31 + i) % 1000003 end

--- Arithmetic in a compiled loop.
function _M.compiled()
    local a = 7
    for i = 1, 20000 do a = mix(a, i) end
    ngx.print(a, "\n")
end

local function interpreted(n)
    local t = {}
    for i = 1, n do
        t[#t + 1] = string.format("%d:%s", i, tostring(i))
        for _, v in pairs({ a = i }) do t.last = v end
    end
    return #t
end
jit.off(interpreted)

--- The same kind of work for the interpreter.
function _M.interpreted() ngx.print(interpreted(200), "\n") end

local function words(s)
    local all = {}
    for w in string.gmatch(s, "%w+") do all[#all + 1] = w:upper() end
    return table.concat(all, ",")
end

--- Strings, in C functions that compiled code calls, and garbage.
function _M.text()
    local lines = {}
    for i = 1, 20 do lines[i] = words("the quick brown fox " .. i) end
    ngx.print(table.concat(lines, "\n"), ngx.ctx.user, "\n")
end

--- A hash of the request, as a check of rights has it.
function _M.auth() ngx.ctx.user = ngx.md5("user " .. ngx.var.request_uri) end

--- Counters in shared memory.
function _M.counts()
    local counts = ngx.shared.counts
    for i = 1, 50 do counts:incr("k" .. i, 1, 0) end
    ngx.print(counts:get("k1"), "\n")
end

--- The same for long, and nothing else: for two workers that wait for each other.
function _M.contended()
    local counts = ngx.shared.counts
    for _ = 1, 20000 do counts:incr("k", 1, 0) end
    ngx.print(counts:get("k"), "\n")
end

local held

--- Holds so many objects: entries of a cache, a table and a string each.
function _M.hold()
    held = {}
    for i = 1, tonumber(ngx.var.args) / 2 do held[i] = { id = i, name = "entry " .. i } end
    collectgarbage()
    ngx.print(#held, "\n")
end

local ffi = require "ffi"
ffi.cdef [[
typedef struct { int64_t s, ns; } probe_timespec;
int clock_gettime(int id, probe_timespec *to);
]]
local now = ffi.new("probe_timespec")

local function clock()
    ffi.C.clock_gettime(1, now) -- CLOCK_MONOTONIC
    return tonumber(now.s) * 1e9 + tonumber(now.ns)
end

local took = {}

--- Computes for so many ns by its own clock, and notes how long that was.
function _M.known()
    local from = clock()
    local stop = from + tonumber(ngx.var.args)
    local at
    repeat at = clock() until at >= stop
    took[#took + 1] = at - from
end

--- Prints how many of those there were, and their median, ns; and forgets them.
function _M.noted()
    table.sort(took)
    ngx.print(#took, " ", took[math.ceil(#took / 2)] or 0, "\n")
    took = {}
end

--- Reads the clock for 0.1 s and prints the longest time between two readings, ns.
function _M.spin()
    local longest, last = 0, clock()
    local stop = last + 1e8
    while last < stop do
        local at = clock()
        longest, last = math.max(longest, at - last), at
    end
    ngx.print(longest, "\n")
end

--- What lua-resty-core does for requests: regular expressions, encodings, a shared dict,
-- variables, headers, times.
function _M.core()
    local dict, n = ngx.shared.counts, 0
    for i = 1, 200 do
        local key = "user:" .. i % 50
        dict:set(key, i, 60)
        n = n + dict:get(key) + dict:incr("all", 1, 0)
        local m = ngx.re.match("GET /users/" .. i, "/users/([0-9]+)", "jo")
        n = n + #ngx.encode_base64(m[1]) + #ngx.escape_uri("a b&" .. i) + #ngx.md5(key)
        n = n + #ngx.re.gsub("a-b-c", "-", "+", "jo") + ngx.crc32_short(key) % 7
        ngx.ctx.n = n + #ngx.var.uri + ngx.now() % 2
    end
    ngx.header["X-N"] = n
    ngx.print(n, "\n")
end

return _M
