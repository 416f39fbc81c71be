--- A heap that differs from series to series.
--
-- How long a case that allocates takes hangs on what else lives in the heap: where among the
-- calls the collector's cycles begin and end, which dead strings are found again, where objects
-- lie. In all fresh processes of one file that would be the same, and a comparison would tell,
-- with every certainty, what is true of that one heap. Against this, T. Mytkowicz et al.
-- ("Producing wrong data without doing anything obviously wrong!", 2009) and C. Curtsinger and
-- E. Berger ("Stabilizer", 2013) vary the layout by chance; here that is the heap's size.
-- @module moonlap.bench.ballast
jit.off(true, true)

local _M = {}

local floor = math.floor

local MOST = 128 * 1024 -- bytes: several times what changes a case's cost by chance
local LONGEST = 200     -- bytes of a string


--- Strings of random lengths, up to a random sum.
-- @tparam function random returns a number from 0 to 1. Both sides of a pair get the same ones, and
-- so does a replay.
-- @treturn table to be kept alive while the case is measured
function _M.new(random)
    local strings, bytes, sum = {}, 0, random() * MOST
    while bytes < sum do
        local length = 1 + floor(random() * LONGEST)
        strings[#strings + 1] = #strings .. (" "):rep(length)
        bytes = bytes + length
    end
    return strings
end


return _M
