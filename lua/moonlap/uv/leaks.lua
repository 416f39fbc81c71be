--- What keeps the loop from its end and memory from being freed; an extension of luv's API.
--
--     uv.trace_handles(true)          -- at the start: notes where each handle is made
--     …
--     io.stderr:write(uv.leak_report())
-- @module moonlap.uv.leaks

local handle = require "moonlap.uv.handle"
local ask = require("moonlap.uv.handle_functions").api
local req = require "moonlap.uv.req"

local _M = {}

local api = {}
_M.api = api

--- Notes where handles are made, for `uv.leaks`; several microseconds each.
-- @tparam boolean on
function api.trace_handles(on)
    handle.traced = on and true or false
end

--- The handles that are not closed, in the order of creation.
-- @treturn {table,…} of each: `handle`; `type`; `active`, `referenced`, `closing`: booleans;
--   `made`: where, if `uv.trace_handles` was on
function api.leaks()
    local list = {}
    ask.walk(function(userdata)
        list[#list + 1] = {
            handle = userdata, type = (ask.handle_get_type(userdata)),
            active = ask.is_active(userdata), referenced = ask.has_ref(userdata),
            closing = ask.is_closing(userdata), made = handle.made[userdata],
        }
    end)
    return list
end

local function words(leak)
    local line = {
        tostring(leak.handle),
        leak.closing and "closing" or leak.active and "active" or "not active",
    }
    if not leak.referenced then
        line[#line + 1] = "not referenced"
    end
    if leak.made then
        line[#line + 1] = "made at " .. leak.made
    end
    return table.concat(line, ", ")
end

--- The same for people, and the number of requests under way.
-- @treturn string
function api.leak_report()
    local list = api.leaks()
    local lines = {
        ("%d handles are not closed, %d requests are under way"):format(#list, req.count),
    }
    for i, leak in ipairs(list) do
        lines[i + 1] = "  " .. words(leak)
    end
    return table.concat(lines, "\n") .. "\n"
end

return _M
