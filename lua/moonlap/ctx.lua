-- luacheck: std luajit+ngx_lua
--- Carries `ngx.ctx` across an internal redirect (`ngx.exec`, `error_page`, `try_files`), on
-- which nginx forgets it.
--
--     # nginx.conf: a variable to carry the token, set in the location that redirects. Not in
--     # the server block nor in the target, whose set would run again and wipe it.
--     location /one {
--         set $moonlap_ctx "";
--         access_by_lua_block { require("moonlap.ctx").stash() ngx.exec("/other") }
--     }
--     location /other {
--         access_by_lua_block { require("moonlap.ctx").apply() … }
--     }
--
-- Nothing is leaked when the redirect never happens: nginx itself notes the end of each request
-- that stashed, and the next stashes let go of what such requests left.
--
-- Works in the http subsystem, with lua-resty-core (which current ngx_lua needs anyway).
-- @module moonlap.ctx

local ffi = require "ffi"

local _M = {}

local C = ffi.C
local DEFAULT = "moonlap_ctx"
local CHUNK = 256 -- flags allocated at once
local SWEEP = 4 -- places looked at in each stash: more than one, so that sweeping keeps up

-- Each place in `places` is a stash whose request may still live. Its flag becomes non-zero when
-- the request ends: nginx calls, as the request's cleanup, C's time(&flag), the simplest function
-- that marks a word. So no Lua runs at that moment, and none has to.
local places = {}
local free = {}
local swept = 0
local generation = 0

local get_request, cleanup_t, handler_t

--- Finds nginx's functions; not when the module is loaded, so that it loads anywhere.
local function connect()
    if get_request then
        return true
    end
    local ok, base = pcall(require, "resty.core.base")
    if not ok or not ngx or ngx.config.subsystem ~= "http" then
        return nil, "moonlap.ctx works in nginx's http subsystem with lua-resty-core only"
    end
    -- Declared apart, because another module may have declared any of them.
    pcall(ffi.cdef, "void *calloc(size_t count, size_t size);")
    pcall(ffi.cdef, "long time(long *word);")
    pcall(ffi.cdef, "void *ngx_http_cleanup_add(void *r, size_t size);")
    cleanup_t = ffi.typeof "struct { void *handler; void *data; } *"
    handler_t = ffi.typeof "void *"
    local found, err = pcall(function()
        return C.ngx_http_cleanup_add
    end)
    if not found then
        return nil, "this nginx hides ngx_http_cleanup_add: " .. err
    end
    get_request = base.get_request
    return true
end

--- Adds places whose flags outlive the Lua VM: a request may end after it, when nginx runs with
-- lua_code_cache off.
local function grow()
    local flags = ffi.cast("int64_t *", C.calloc(CHUNK, 8))
    if flags == nil then
        return nil, "out of memory"
    end
    for i = 0, CHUNK - 1 do
        places[#places + 1] = { flag = flags + i }
        free[#free + 1] = #places
    end
    return true
end

local function release(number)
    local place = places[number]
    if place.used and place.flag[0] ~= 0 then
        place.used, place.ctx, place.token = false, nil, nil
        free[#free + 1] = number
    end
end

local function sweep(count)
    for _ = 1, math.min(count, #places) do
        swept = swept % #places + 1
        release(swept)
    end
end

--- Keeps this request's `ngx.ctx` for `apply`, and writes a token into an nginx variable.
-- @tparam[opt="moonlap_ctx"] string variable that the configuration has `set`
-- @treturn string the token, or nil and an error
function _M.stash(variable)
    local ok, err = connect()
    if not ok then
        return nil, err
    end
    local request = get_request()
    if not request then
        return nil, "no request in this phase"
    end
    sweep(SWEEP)
    if #free == 0 then
        ok, err = grow()
        if not ok then
            return nil, err
        end
    end
    local number = free[#free]
    local place = places[number]
    local token = number .. ":" .. generation + 1
    ok, err = pcall(function()
        ngx.var[variable or DEFAULT] = token
    end)
    if not ok then
        return nil, "cannot set $" .. (variable or DEFAULT) .. ": " .. err
    end
    local cleanup = ffi.cast(cleanup_t, C.ngx_http_cleanup_add(ffi.cast(handler_t, request), 0))
    if cleanup == nil then
        return nil, "out of memory"
    end
    place.flag[0] = 0
    cleanup.data = place.flag
    cleanup.handler = ffi.cast(handler_t, C.time)
    free[#free] = nil
    generation = generation + 1
    place.used, place.ctx, place.token = true, ngx.ctx, token
    return token
end

--- Makes the stashed table this request's `ngx.ctx` again, once.
-- @tparam[opt="moonlap_ctx"] string variable that `stash` wrote
-- @treturn table ngx.ctx, or nil and an error when nothing is stashed under the variable's token
function _M.apply(variable)
    local ok, err = connect()
    if not ok then
        return nil, err
    end
    local token = ngx.var[variable or DEFAULT]
    local place = token and places[tonumber(token:match "^(%d+):%d+$")]
    if not place or place.token ~= token or not place.ctx then
        return nil, "nothing is stashed under $" .. (variable or DEFAULT)
    end
    ngx.ctx = place.ctx
    place.ctx, place.token = nil, nil
    return ngx.ctx
end

--- Lets go of all that ended requests left, and counts what live ones still stash.
-- @treturn number
function _M.pending()
    sweep(#places)
    local count = 0
    for _, place in ipairs(places) do
        count = count + (place.ctx and 1 or 0)
    end
    return count
end

return _M
