-- Still the third wrong way: the collector works off what the code before left behind, and the
-- timed loop pays for it.
local last

local function time(name)
    local start = os.clock()
    for i = 1, 50000 do
        last = {i, last and last[1]}
    end
    print(("%s: %.0f ns per call"):format(name, (os.clock() - start) / 50000 * 1e9))
end

local function litter()
    local list = {}
    for i = 1, 500000 do
        list[i] = {i}
    end
    return #list
end

time("warm-up")
litter()
time("after other work")
collectgarbage()
time("after a full collection")
