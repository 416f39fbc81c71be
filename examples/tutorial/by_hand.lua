-- The right way, by hand: the call in a function, warmed up so that LuaJIT has compiled it; a
-- full collection; then so many calls that a clock with steps of a millisecond will do.
local function target()
    ngx.re.find("hello, world.", [[\w+\.]], "jo")
end

for _ = 1, 100 do
    target()
end
collectgarbage()

local calls = 1e7
ngx.update_time()
local start = ngx.now()
for _ = 1, calls do
    target()
end
ngx.update_time()
ngx.say(("%.1f ns per call"):format((ngx.now() - start) / calls * 1e9))
