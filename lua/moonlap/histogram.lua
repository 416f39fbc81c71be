--- Streaming histogram of durations in constant memory (HdrHistogram buckets).
--
-- Values are nanoseconds, any Lua number: they are rounded to the nearest integer to find their
-- bucket, while count, minimum, maximum and mean are kept exactly. The default geometry, 1 ns to
-- one hour with 3 significant digits, takes 270 kB. `h:record(ns)` compiles into some 30
-- instructions without a branch on the value, without an allocation and without a side trace, so
-- it can stand inside a timed loop. Go's `lap.Histogram` has the same buckets and writes the same
-- encoding byte for byte.
--
-- @module moonlap.histogram

local bit = require "bit"
local ffi = require "ffi"
local v2 = require "moonlap.histogram.v2"

local arshift = bit.arshift
local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min

local _M = {}

-- More counters than this (8 MiB) are refused, in `new` as in `decode`, so that a corrupt header
-- cannot claim much memory: enough for 4 digits over the whole range of 63 bits.
local MAX_COUNTERS = 2 ^ 20
local INT64_MAX = 0x7fffffffffffffffLL

-- Fields before `counts` are private but for reading; `counts[i]` is bucket i's count.
local histogram_t = ffi.typeof [[
    struct {
        const int64_t lowest, highest;   // as asked for, ns
        const int32_t digits, unit, half, len;  // unit, half: powers of two
        const int32_t shift, offset;     // from a double's high word to a bucket
        const double scale, linear;      // value to units; below `linear` units a bucket is a unit
        double total, sum, smallest, largest;
        uint64_t counts[?];
    }
]]

-- Reads the high word of a double, which holds its exponent and leading digits.
local pun = ffi.new(ffi.typeof(ffi.abi("le")
    and "union { double value; struct { int32_t low, high; }; }"
    or "union { double value; struct { int32_t high, low; }; }"))

--- Bucket geometry as in HdrHistogram: `unit` is log2 of the finest bucket, `half` log2 of half
-- the buckets that a power of two range is cut into. Go's lap.geometry is its twin.
local function geometry(lowest, highest, digits)
    if digits < 0 or digits > 5 or digits ~= floor(digits) then
        return nil, "digits must be an integer from 0 to 5, not " .. tostring(digits)
    end
    if lowest < 1 or highest < 2 or highest / 2 < lowest then
        return nil, "needs 1 <= lowest <= highest/2, in ns"
    end
    local half = max(0, ceil(math.log(2 * 10 ^ digits) / math.log(2)) - 1)
    local unit = 0
    while unit < 62 and 2LL ^ (unit + 1) <= lowest do
        unit = unit + 1
    end
    if unit + half > 61 then
        return nil, "lowest is too large for so many digits"
    end
    local buckets, untrackable = 1, 2LL ^ (half + 1 + unit)
    while untrackable <= highest do
        buckets = buckets + 1
        if untrackable > INT64_MAX / 2 then
            break
        end
        untrackable = untrackable * 2
    end
    local len = (buckets + 1) * 2 ^ half
    if len > MAX_COUNTERS then
        return nil, ("needs %d counters, more than %d: use fewer digits"):format(len, MAX_COUNTERS)
    end
    return { unit = unit, half = half, len = len }
end

local function make(lowest, highest, digits)
    local g, err = geometry(lowest, highest, digits)
    if not g then
        return nil, err
    end
    local h = ffi.new(histogram_t, g.len, {
        lowest = lowest, highest = highest, digits = digits,
        unit = g.unit, half = g.half, len = g.len,
        -- A double's high word is sign, 11 bits of exponent (+1023), 20 of mantissa. Shifted so
        -- that `half` bits of mantissa stay, it counts buckets; offset makes 2^half number 2^half.
        shift = 20 - g.half, offset = (1022 + g.half) * 2 ^ g.half,
        scale = 2 ^ -g.unit, linear = 2 ^ g.half,
        smallest = huge, largest = -huge,
    })
    -- With initial values, ffi.new leaves a variable-length tail as it found it.
    ffi.fill(h.counts, g.len * 8)
    return h
end

--- Makes an empty histogram.
-- @tparam[opt] table opts `lowest` (1), `highest` (3.6e12): range in ns that keeps its
--   resolution; `digits` (3): significant decimal digits, 0 to 5
-- @treturn histogram
function _M.new(opts)
    opts = opts or {}
    local h, err = make(ffi.cast("int64_t", opts.lowest or 1),
        ffi.cast("int64_t", opts.highest or 3.6e12), opts.digits or 3)
    if not h then
        error("moonlap.histogram: " .. err, 2)
    end
    return h
end

local methods = {}

--- Records one value. A negative value counts in the lowest bucket, one beyond the range in the
-- highest; minimum, maximum and mean stay exact, so they tell. NaN is an error, as is what is
-- not a number at all.
-- @tparam number ns
function methods.record(h, ns)
    if type(ns) ~= "number" or ns ~= ns then
        error("moonlap.histogram: the value is not a number", 2)
    end
    local units = (ns + 0.5) * h.scale
    pun.value = units
    -- The exponent picks the bucket of a large value; of a small one it gives too little (or
    -- less than nothing), so that the larger of both is right without a branch.
    local index = max(arshift(pun.high, h.shift) - h.offset, floor(max(0, min(units, h.linear))))
    index = min(index, h.len - 1)
    h.counts[index] = h.counts[index] + 1
    h.sum = h.sum + ns
    h.total = h.total + 1
    h.smallest = min(h.smallest, ns)
    h.largest = max(h.largest, ns)
end

--- Lowest value and width of a bucket, both in ns.
local function bucket(h, index)
    local size = 2 ^ h.half
    local exponent, position = floor(index / size) - 1, index % size + size
    if exponent < 0 then
        exponent, position = 0, position - size
    end
    local width = 2 ^ (exponent + h.unit)
    return position * width, width
end

--- Records one value many times. Faster than as many calls of `record`.
-- @tparam number ns
-- @tparam number count
function methods.record_many(h, ns, count)
    if count <= 0 then
        return
    end
    methods.record(h, ns)
    -- `record` left its bucket in `pun`: the value in units.
    local index = max(arshift(pun.high, h.shift) - h.offset,
        floor(max(0, min(pun.value, h.linear))))
    index = min(index, h.len - 1)
    h.counts[index] = h.counts[index] + (count - 1)
    h.sum = h.sum + ns * (count - 1)
    h.total = h.total + (count - 1)
end

--- Number of values recorded.
function methods.count(h)
    return h.total
end

--- Smallest value in ns, exact (a bucket's lower edge after `decode`); 0 when empty.
function methods.min(h)
    return h.total == 0 and 0 or h.smallest
end

--- Largest value in ns, exact (a bucket's highest integer after `decode`); 0 when empty.
function methods.max(h)
    return h.total == 0 and 0 or h.largest
end

--- Arithmetic mean in ns, exact (from the buckets' middles after `decode`); 0 when empty.
function methods.mean(h)
    return h.total == 0 and 0 or h.sum / h.total
end

--- Nearest-rank percentile: the smallest value that p % of all values don't exceed, as the middle
-- of its bucket; 0 gives the exact minimum, 100 the exact maximum.
-- @tparam number p 0 to 100
-- @treturn number ns; 0 when empty
function methods.percentile(h, p)
    if type(p) ~= "number" or not (p >= 0 and p <= 100) then
        error("moonlap.histogram: a percentile lies between 0 and 100", 2)
    end
    if h.total == 0 then
        return 0
    elseif p == 0 then
        return h.smallest
    elseif p == 100 then
        return h.largest
    end
    -- The last factor undoes rounding of p: 99.9 % of 1000 is the 999th value, not the 1000th.
    local rank = max(1, ceil(p * h.total / 100 * (1 - 2 ^ -50)))
    local seen = 0
    for i = 0, h.len - 1 do
        seen = seen + tonumber(h.counts[i])
        if seen >= rank then
            local low, width = bucket(h, i)
            return max(h.smallest, min(h.largest, low + floor(width / 2)))
        end
    end
    return h.largest
end

--- Iterates over the buckets that hold values: `for low, high, count in h:buckets() do`, each
-- [low, high) in ns.
function methods.buckets(h)
    local i = -1
    return function()
        repeat
            i = i + 1
            if i >= h.len then
                return nil
            end
        until h.counts[i] ~= 0
        local low, width = bucket(h, i)
        return low, low + width, tonumber(h.counts[i])
    end
end

--- Adds another histogram's values.
-- @tparam histogram other of the same lowest, highest and digits
-- @treturn boolean true, or nil and an error when the geometries differ
function methods.merge(h, other)
    if h.lowest ~= other.lowest or h.highest ~= other.highest or h.digits ~= other.digits then
        return nil, "histograms of different lowest, highest or digits cannot be merged"
    end
    for i = 0, h.len - 1 do
        h.counts[i] = h.counts[i] + other.counts[i]
    end
    h.sum, h.total = h.sum + other.sum, h.total + other.total
    h.smallest = min(h.smallest, other.smallest)
    h.largest = max(h.largest, other.largest)
    return true
end

--- Forgets all values.
function methods.reset(h)
    ffi.fill(h.counts, h.len * 8)
    h.sum, h.total, h.smallest, h.largest = 0, 0, huge, -huge
end

--- Encodes as HdrHistogram V2, base64: what every HdrHistogram library reads. The zlib stream
-- consists of stored blocks, so equal histograms give equal strings.
-- @treturn string
function methods.encode(h)
    return v2.encode(h)
end

ffi.metatype(histogram_t, { __index = methods })

--- Reads an HdrHistogram V2 encoding, base64, by whatever library wrote it. Compressed zlib
-- streams need libz, stored ones don't. Minimum, maximum and mean come from the buckets.
-- @tparam string text
-- @treturn histogram or nil and an error
function _M.decode(text)
    if type(text) ~= "string" then
        error("moonlap.histogram: an encoding is a string", 2)
    end
    local h, err = v2.decode(text, make)
    if not h then
        return nil, "histogram encoding: " .. err
    end
    for i = 0, h.len - 1 do
        local n = tonumber(h.counts[i])
        if n > 0 then
            local low, width = bucket(h, i)
            h.smallest = min(h.smallest, low)
            h.largest = low + width - 1
            h.total = h.total + n
            h.sum = h.sum + n * (low + floor(width / 2))
        end
    end
    return h
end

--- True for what `new` and `decode` return.
function _M.is(value)
    return ffi.istype(histogram_t, value)
end

return _M
