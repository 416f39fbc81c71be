-- The third wrong way: a loop that starts cold. How long a call takes "on average" hangs on how
-- many calls there are, because the first ones run in LuaJIT's interpreter, and one of them
-- compiles the regular expression.
local calls = tonumber(arg[1])

local start = os.clock()
for _ = 1, calls do
    ngx.re.find("hello, world.", [[\w+\.]], "jo")
end
print(("%d calls: %.1f ns per call"):format(calls, (os.clock() - start) / calls * 1e9))
