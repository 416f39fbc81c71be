--- A user's script in a state of its own, and its hooks as the engine calls them.
--
-- The file is run once in the main state and once in each thread, as wrk does. Hooks are looked
-- up when they are called, so a script may replace them as it goes.
-- @module moonlap.load.script
local ffi = require "ffi"
local headers = require "moonlap.load.headers"
local users = require "moonlap.load.user"
local wrk_api = require "moonlap.load.wrk"

local _M = {}
local mt = { __index = _M }

local type, getinfo = type, debug.getinfo
local new_headers = headers.new


--- The position that an error message begins with.
-- @treturn string file, or nil
-- @treturn int line
-- @treturn string the rest of the message
function _M.position(text)
    local file, line, rest = text:match "^([^\n]-):(%d+): (.*)$"
    return file, tonumber(line), rest or text
end


--- What was thrown as text: the handler of hooks' errors.
function _M.text_of(thrown)
    if type(thrown) == "table" and not getmetatable(thrown) then
        return "a table was thrown, with no text"
    end
    local ok, text = pcall(tostring, thrown)
    return ok and type(text) == "string" and text or "a " .. type(thrown) .. " was thrown"
end


--- An error as a line for Go.
function _M.error_line(text, hook, side, thread, kind)
    text = tostring(text)
    local file, line, rest = _M.position(text)
    if not kind and text:find "not enough memory" then
        kind = "memory"
    end
    return {
        type = "load_script", thread = thread, side = side, hook = hook, kind = kind or "error",
        text = rest, file = file, line = line,
    }
end


-- Whether a function looks at its n-th argument, as far as its declaration says.
local function takes(f, n)
    local info = getinfo(f, "u")
    return info.isvararg or info.nparams >= n
end


-- The globals of a script. They are not the engine's: a script may set tostring to nil.
local function own_globals()
    local env = {}
    for name, value in pairs(_G) do
        env[name] = value
    end
    env._G = env
    return env
end


--- Loads a script.
-- @tparam table spec the side, as the job has it
-- @tparam boolean alone whether its globals are the state's
-- @treturn table the script
function _M.new(spec, alone)
    local env = own_globals()
    if alone then
        setfenv(0, env) -- what the script loads from now on has them too
        package.loaded._G = env
    end
    local self = setmetatable({ spec = spec, env = env, extras = {} }, mt)
    env.wrk = wrk_api.new(spec, env)
    env.pairs, env.next = headers.pairs, headers.next
    return self
end


--- Runs the file.
-- @treturn boolean true; or nil and the error
function _M:run()
    if not self.spec.script then
        return true
    end
    local chunk, err = loadfile(self.spec.script)
    if not chunk then
        return nil, err
    end
    setfenv(chunk, self.env)
    local load = package.loaded["moonlap.load"]
    if load then
        load.loading(self.extras) -- what the file asks for beyond wrk is its own
    end
    local ok
    ok, err = xpcall(chunk, _M.text_of)
    if not ok then
        return nil, err
    end
    return true
end


--- Where a hook is declared.
-- @tparam string hook
-- @treturn string file, or nil
-- @treturn int line
function _M:place(hook)
    local f = self.env[hook]
    if hook == "request" and self.extras.user then
        f = self.extras.user
    elseif hook == "check" then
        f = self.extras.check
    elseif hook == "load" then
        return self.spec.script, nil
    end
    if type(f) ~= "function" then
        return nil, nil
    end
    local info = getinfo(f, "S")
    return info.short_src, info.linedefined
end


-- The hook request() as a function of the connection.
local function new_request(self)
    local env, wrk = self.env, self.env.wrk
    local known, takes_conn = nil, false
    return function(conn)
        local f = env.request
        if type(f) ~= "function" then
            f = wrk.request
        end
        if f ~= known then
            known, takes_conn = f, f ~= wrk.format and takes(f, 1)
        end
        if takes_conn then
            local user = conn.user
            local text = f(user)
            conn.tag = user.tag or false
            return text
        end
        return f()
    end
end


-- The text of a head. It is that of the response before, mostly.
local function new_head_text()
    local text = ""
    return function(p, n)
        if n ~= #text or ffi.C.moonlap_load_memcmp(p, text, n) ~= 0 then
            text = ffi.string(p, n)
        end
        return text
    end
end


-- The hook response(), and check() where the script has one.
local function new_respond(self, side)
    local env = self.env
    local head_text = new_head_text()
    local check = self.extras.check
    return function(conn, status, head, head_size, body)
        local f = env.response
        local text = head_text(head, head_size)
        if type(f) == "function" then
            f(status, new_headers(text), body, conn.user)
        end
        if check then
            self.hook[0] = 3
            local response = { status = status, headers = new_headers(text), body = body }
            local good, why = check(response, conn.user)
            if not good then
                self.on_check(side, why)
            end
        end
    end
end


--- Gives a side what the script says about its requests. To be called after init().
-- @tparam table side
-- @treturn boolean true; or nil and the error
function _M:attach(side, job)
    local env, extras = self.env, self.extras
    local dynamic = type(env.request) == "function"
    if not dynamic and not extras.user then
        local text = (env.wrk.request or env.wrk.format)() -- init() may have thrown
        side.batch = (job.protocol or "http1") == "http1" and job.pipeline or 1
        if side.batch > 1 then
            text = text:rep(side.batch)
        end
        side.is_head = text:sub(1, 5) == "HEAD "
        side.asks_upgrade = text:lower():find("\nupgrade:", 1, true) ~= nil
        side.text = text
    else
        side.request = new_request(self)
    end
    local response = env.response
    if type(response) == "function" or extras.check then
        side.respond = new_respond(self, side)
        side.wants_body = extras.check ~= nil or type(response) == "function" and takes(response, 3)
    end
    if extras.user then
        users.attach(side, extras.user, env.wrk)
    end
    return true
end


return _M
