-- Finds timers that a loop makes.
return {visit = {Call = function(file, call)
    if file.loops > 0 and file:name(call[1]) == "ngx.timer.at" then
        file:report(call, "a timer for each round of the loop: past lua_max_pending_timers "
            .. "they are refused; let one timer go through a list")
    end
end}}
