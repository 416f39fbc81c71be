--- Requests as scripts write them, HTTP/1's text, to what HTTP/2 sends.
-- @module moonlap.load.h2_request
local _M = {}

-- What belongs to a connection of HTTP/1, and the host, which has a place of its own.
local HOP = { connection = true, ["keep-alive"] = true, ["transfer-encoding"] = true, host = true,
    upgrade = true, ["proxy-connection"] = true }


--- An HTTP/1 request as HTTP/2's headers and body. The last one is kept: it is the next one,
-- mostly.
function _M.reader(scheme)
    local last, names, values, body
    return function(text)
        if text == last then
            return names, values, body
        end
        local method, path, at = text:match "^(%S+) (%S+) HTTP/[%d.]+\r\n()"
        if not method then
            return nil
        end
        names, values = { ":method", ":scheme", ":path", ":authority" }, { method, scheme, path,
            "" }
        while true do
            local name, value, after = text:match("^([^:\r\n]+): *([^\r\n]*)\r\n()", at)
            if not name then
                break
            end
            name = name:lower()
            if name == "host" then
                values[4] = value
            elseif not HOP[name] then
                names[#names + 1], values[#values + 1] = name, value
            end
            at = after
        end
        body = text:sub(at + 2)
        last = text
        return names, values, body
    end
end


return _M
