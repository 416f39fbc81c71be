-- Finds configurations that stash ngx.ctx and nowhere apply it.
local STASH = {"moonlap%.ctx.-stash%s*%(", "stash_ngx_ctx%s*%("}
local APPLY = {"moonlap%.ctx.-apply%s*%(", "apply_ngx_ctx%s*%("}

local function any(text, patterns)
    for _, pattern in ipairs(patterns) do
        if text:find(pattern) then
            return true
        end
    end
    return false
end

return {conf = function(file, conf)
    local stashed, applied
    conf:all(function(d)
        if d.lua then
            stashed = stashed or any(d.lua, STASH) and d
            applied = applied or any(d.lua, APPLY)
        elseif d.name:find "_by_lua" then
            applied = true -- who knows: its Lua stands elsewhere
        end
    end)
    if stashed and not applied then
        file:report(stashed, "ngx.ctx is stashed here, and nothing applies it: behind the redirect "
            .. "ngx.ctx is empty, and the stash is kept until the request ends")
    end
end}
