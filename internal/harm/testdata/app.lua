-- What the workers serve: something of everything that moonlap looks at, in short requests.
local dict = ngx.shared.cache

-- A heap that takes some milliseconds to copy.
local ballast = {}
for i = 1, 20000 do
    ballast[i] = {("x"):rep(500) .. i}
end

local function compute(n)
    local sum = 0
    for i = 1, n do
        sum = sum + i % 7
    end
    return sum
end

local function nested(depth)
    if depth == 0 then
        return compute(2000)
    end
    return 1 + nested(depth - 1)
end

local kinds = {
    function() return compute(20000) end,
    function() return nested(150) end,
    function() -- garbage, and a builtin
        local all = {}
        for i = 1, 300 do
            all[i] = string.format("%d %s", i, ("x"):rep(i % 20))
        end
        return #table.concat(all)
    end,
    function() -- locks of shared memory
        for i = 1, 100 do
            dict:incr("n" .. i % 10, 1, 0)
        end
        return 1
    end,
    function() -- coroutines, one in the other
        local function deep(n)
            if n == 0 then
                return compute(2000)
            end
            return coroutine.wrap(deep)(n - 1)
        end
        return deep(20)
    end,
    function() ngx.sleep(0.002) return 1 end,
    function() return ngx.re.find(("a"):rep(300), "a*b") or 1 end,
}

-- What grows, by 100 kB a request and up to 200 MB.
local grown = {}

local n = #ballast
return function()
    n = n + 1
    kinds[n % #kinds + 1]()
    if ngx.var.uri == "/grow" then
        grown[n % 2000] = ("x"):rep(100000) .. n
    elseif next(grown) then
        grown = {}
    end
    if ngx.var.uri == "/fork" then
        os.execute("true")
    end
    ngx.header["X-Worker"] = ngx.worker.pid()
    ngx.say("done")
end
