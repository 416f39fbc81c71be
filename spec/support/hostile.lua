--- Spoilt input for parsers: some hundred times, or for as long as script/fuzz wants.
-- @module spec.support.hostile
local _M = {}

local TIMES = 500


--- Calls `test` with one seed after another, the random numbers being those of the seed.
function _M.each(test)
    local seconds = tonumber(os.getenv "MOONLAP_FUZZ_SECONDS")
    local stop = seconds and os.time() + seconds
    local seed = 0
    repeat
        seed = seed + 1
        math.randomseed(seed)
        local ok, err = pcall(test, seed)
        if not ok then
            error("seed " .. seed .. ": " .. tostring(err), 0)
        end
    until seed >= TIMES and not (stop and os.time() < stop)
    if stop then
        print(seed .. " seeds")
    end
end


return _M
