-- Finds whole configurations that start a single worker.
return {conf = function(file, conf)
    local events, set, serves
    for _, d in ipairs(conf.directives) do
        events = d.name == "events" and d or events
        set = d.name == "worker_processes" and d or set
        serves = serves or (d.name == "http" or d.name == "stream") and d.block and d.block[1]
    end
    -- A file without events is a part of another, and one that serves nothing is a placeholder.
    if events and serves and (not set or set.args[1] == "1") then
        file:report(set or events, "one worker uses one processor: worker_processes auto starts "
            .. "one for each")
    end
end}
