--- Histograms as a Prometheus text page (exposition format 0.0.4).
--
-- @module moonlap.prometheus

local _M = {}

_M.CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

-- Upper bounds in seconds: 1, 2.5 and 5 of each decade from 1 µs to 10 s.
local BOUNDS = {}
for exponent = -6, 0 do
    for _, digit in ipairs { 1, 2.5, 5 } do
        BOUNDS[#BOUNDS + 1] = digit * 10 ^ exponent
    end
end
BOUNDS[#BOUNDS + 1] = 10

local ESCAPES = { ["\\"] = "\\\\", ["\n"] = "\\n", ['"'] = '\\"' }

local function label_list(labels)
    local names = {}
    for name in pairs(labels or {}) do
        if not name:match "^[%a_][%w_]*$" or name == "le" then
            error("moonlap.prometheus: not a label name: " .. name, 3)
        end
        names[#names + 1] = name
    end
    table.sort(names)
    local list = {}
    for i, name in ipairs(names) do
        list[i] = ('%s="%s"'):format(name, tostring(labels[name]):gsub('[\\\n"]', ESCAPES))
    end
    return table.concat(list, ",")
end

--- Draws one metric; several of one name, with different labels, go in one list.
-- @tparam string name of the metric, in seconds by convention: "request_duration_seconds"
-- @tparam string help one line
-- @tparam table series list of { histogram = h, labels = { name = value } }
-- @tparam[opt] table bounds upper bounds of the buckets in seconds, ascending
-- @treturn string
function _M.text(name, help, series, bounds)
    if not name:match "^[%a_:][%w_:]*$" then
        error("moonlap.prometheus: not a metric name: " .. name, 2)
    end
    bounds = bounds or BOUNDS
    local lines = {
        ("# HELP %s %s"):format(name, (help:gsub("[\\\n]", ESCAPES))),
        ("# TYPE %s histogram"):format(name),
    }
    local function line(...)
        lines[#lines + 1] = ("%s%s{%s} %s"):format(...)
    end
    for _, entry in ipairs(series) do
        local h, labels = entry.histogram, label_list(entry.labels)
        local separator = labels == "" and "" or ","
        local at, cumulative = 1, 0
        local function close(bound)
            line(name, "_bucket", labels .. separator .. ('le="%.12g"'):format(bound), cumulative)
        end
        for low, _, count in h:buckets() do
            -- A bucket of the histogram counts where it begins: at most 0.1 % off.
            while bounds[at] and low > bounds[at] * 1e9 do
                close(bounds[at])
                at = at + 1
            end
            cumulative = cumulative + count
        end
        for i = at, #bounds do
            close(bounds[i])
        end
        line(name, "_bucket", labels .. separator .. 'le="+Inf"', h:count())
        line(name, "_sum", labels, ("%.17g"):format(h:mean() * h:count() / 1e9))
        line(name, "_count", labels, h:count())
    end
    return table.concat(lines, "\n") .. "\n"
end

return _M
