-- async N BATCH: N sends to an async of this loop, each with two values, so many a turn.
local uv = require(arg[1])
local measure = require "measure"
local n, batch = tonumber(arg[2]), tonumber(arg[3])

local sent, async = 0, nil
local function send_some()
    for _ = 1, batch do
        sent = sent + 1
        async:send(sent, "done")
    end
end
async = uv.new_async(function(number, word)
    assert(number <= sent and word)
    if sent < n then
        send_some()
    else
        async:close()
    end
end)
local start = measure.cpu_seconds()
send_some()
uv.run()
measure.report(measure.cpu_seconds() - start, sent)
