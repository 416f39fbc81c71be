-- Finds configurations that stash ngx.ctx and nowhere apply it.
local names = require "moonlap.lint.names"

local STASH = {"moonlap%.ctx.-stash%s*%(", "stash_ngx_ctx%s*%("}
local APPLY = {"moonlap%.ctx.-apply%s*%(", "apply_ngx_ctx%s*%("}

return {conf = function(file, conf)
    local stashed, applied
    conf:all(function(d)
        if d.lua then
            stashed = stashed or names.mentions(d.lua, STASH) and d
            applied = applied or names.mentions(d.lua, APPLY)
        elseif d.name:find "_by_lua" then
            applied = true -- who knows: its Lua stands elsewhere
        end
    end)
    if stashed and not applied then
        file:report(stashed, "ngx.ctx is stashed here, and nothing applies it: behind the redirect "
            .. "ngx.ctx is empty, and the stash is kept until the request ends; call apply() there")
    end
end}
