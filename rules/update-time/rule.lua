-- Finds updates of nginx's clock on the path of requests.
return {visit = {Call = function(file, call)
    if file:name(call[1]) == "ngx.update_time" then
        file:report(call, "ngx.update_time() reads the clock and writes nginx's times anew; "
            .. "ngx.now() alone is at most one turn of the event loop old")
    end
end}}
