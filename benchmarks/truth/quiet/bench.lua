-- Twelve cases of different kinds, each with its own way to depend on the machine.
-- moonlap: --runtime nginx --http-conf 'lua_shared_dict study 1m;'
local moonlap = require "moonlap"
local ffi = require "ffi"
local cjson = require "cjson"

ffi.cdef [[
typedef struct { int32_t key; double value; } study_entry;
size_t strlen(const char *s);
]]

local function case(name, setup, run)
    moonlap.bench { name = name, setup = setup, run = run }
end

case("integers", nil, function()
    local x = 0
    for i = 1, 1000 do
        x = x + i * i % 7
    end
    return x
end)

case("floats", nil, function(_, i)
    local x = i % 7
    for _ = 1, 300 do
        x = math.sqrt(x + 1) * 0.5 + math.sin(x)
    end
    return x
end)

-- A rare branch: which side the JIT records first is chance (LuaJIT issue 218).
case("branch", nil, function()
    local live, die, random = 0, 0, math.random
    for _ = 1, 1000 do
        if random(6) == 6 then
            die = die + 1
        else
            live = live + 1
        end
    end
    return live - die
end)

case("bytes", function() return ("abcdefghij"):rep(10) end, function(text)
    local x = 0
    for i = 1, 1000 do
        x = x + text:byte(1 + i % 100) * 3 % 7
    end
    return x
end)

case("concat", nil, function(_, i)
    return table.concat({ "word", i % 100, "and", i % 7 }, " ")
end)

case("tables", nil, function()
    local t = {}
    for i = 1, 200 do
        t[i] = { i }
    end
    return #t
end)

-- 8 MB, in an order that no prefetcher foresees: the shared cache, and memory.
case("chase", function()
    local n = 2 ^ 21
    local next = ffi.new("int32_t[?]", n)
    for i = 0, n - 1 do
        next[i] = (i * 1664525 + 1013904223) % n
    end
    return { next = next, at = 0 }
end, function(state)
    local next, at = state.next, state.at
    for _ = 1, 200 do
        at = next[at]
    end
    state.at = at
    return at
end)

case("regex", nil, function()
    return ngx.re.find("GET /some/path?x=1 HTTP/1.1", [[/(\w+)\?(\w+)=(\d)]], "jo")
end)

case("ffi", function() return ffi.new("study_entry[?]", 1000) end, function(entries, i)
    local sum = 0
    for k = 0, 999 do
        entries[k].key = i + k
        sum = sum + entries[k].value + ffi.C.strlen("four")
    end
    return sum
end)

case("dict", function()
    ngx.shared.study:set("cat", 1)
    return ngx.shared.study
end, function(dict)
    dict:incr("purr", 1, 0)
    return dict:get("cat")
end)

case("json", function() return { name = "cat", ids = { 1, 2, 3 }, nested = { ok = true } } end,
    function(value) return cjson.decode(cjson.encode(value)) end)

case("file", function() return assert(io.open("/etc/hostname")) end, function(file)
    file:seek("set")
    return file:read("*a")
end)
