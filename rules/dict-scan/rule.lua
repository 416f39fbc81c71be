-- Finds scans of a whole shared dict on the path of requests.
local names = require "moonlap.lint.names"
local METHODS = {get_keys = true, flush_all = true, flush_expired = true}

return {visit = {Invoke = function(file, node)
    local method = node[2][1]
    if METHODS[method] and file:deals_with_requests() then
        local dict = names.dict(node[1])
        if dict then
            file:report(node, string.format("%s holds the lock of the shared dict%s while it goes "
                .. "through the keys: workers that need it spin; do it in a timer, or keep a list",
                method, dict ~= "?" and " " .. dict or ""))
        end
    end
end}}
