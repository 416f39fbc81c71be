-- spawn N: N children that end at once, one after the other. The children's time is not counted.
local uv = require(arg[1])
local measure = require "measure"
local n = tonumber(arg[2])

local ended = 0
local function spawn()
    local child
    child = assert(uv.spawn("/bin/true", { args = { "one", "two" } }, function(code)
        assert(code == 0)
        ended = ended + 1
        child:close()
        if ended < n then
            spawn()
        end
    end))
end
local start = measure.cpu_seconds()
spawn()
uv.run()
measure.report(measure.cpu_seconds() - start, ended)
