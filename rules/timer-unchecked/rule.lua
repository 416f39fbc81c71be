-- Finds timers of requests that nobody asks about.
return {visit = {Call = function(file, call)
    -- A call without a parent is a statement: what it returns is dropped.
    if call.parent == nil and file.loops == 0 and file:name(call[1]) == "ngx.timer.at"
        and file:deals_with_requests() then
        file:report(call, "a timer for each call whose result is not checked: past "
            .. "lua_max_pending_timers nginx refuses it, and its work is lost; check what it "
            .. "returns, or let one timer work off a queue")
    end
end}}
