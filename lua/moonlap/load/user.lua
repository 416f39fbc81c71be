--- Users with several steps: a function that sends requests and sleeps, as a coroutine on each
-- connection.
--
--     local load = require "moonlap.load"
--     load.user(function(conn)
--         local login = conn:post("/login", "name=" .. conn.id)
--         load.sleep(0.1)
--         conn:get("/basket", { headers = { Cookie = login.headers["Set-Cookie"] }, tag =
--         "basket" })
--     end)
--
-- When the function has returned, it begins again. A request that failed returns nil and the kind
-- of the error; the next one goes out on a new connection.
-- @module moonlap.load.user
local headers = require "moonlap.load.headers"

local _M = {}

local create, resume, status, yield = coroutine.create, coroutine.resume, coroutine.status,
    coroutine.yield
local running = coroutine.running
local pairs = headers.pairs

local SEND, SLEEP = 1, 2
local MOST_EMPTY = 100 -- laps without a request until this is called a mistake

-- The coroutines that are users: sleeping is for them.
local users = setmetatable({}, { __mode = "k" })


--- Pauses the user, in seconds; the loop goes on meanwhile.
function _M.sleep(seconds)
    if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
        error("moonlap.load.sleep takes seconds", 2)
    elseif not users[running() or ""] then
        error("moonlap.load.sleep is for the function that moonlap.load.user names", 2)
    end
    yield(SLEEP, seconds * 1e9)
end


-- The methods of the table that stands for the connection.
local function install(user, wrk)
    function user.request(_, method, path, options)
        options = options or {}
        local all = {}
        for name, value in pairs(wrk.headers) do
            all[name] = value
        end
        for name, value in pairs(options.headers or {}) do
            all[name] = value
        end
        return yield(SEND, wrk.format(method, path, all, options.body), options.tag)
    end
    function user.get(_, path, options)
        return user.request(user, "GET", path, options)
    end
    function user.post(_, path, body, options)
        options = options or {}
        return user.request(user, "POST", path,
            { headers = options.headers, body = body or options.body or "", tag = options.tag })
    end
end


-- Has the user go on until it wants something. What it wants, and the text or the ns.
local function go_on(conn, f)
    for _ = 1, MOST_EMPTY do
        local co = conn.co
        if not co then
            co = create(f)
            users[co] = true
            conn.co, conn.answer, conn.trouble = co, nil, nil
        end
        local first = status(co) == "suspended" and not conn.begun
        local ok, want, what, tag
        if first then
            conn.begun = true
            ok, want, what, tag = resume(co, conn.user)
        else
            ok, want, what, tag = resume(co, conn.answer, conn.trouble)
        end
        conn.answer, conn.trouble = nil, nil
        if not ok then
            conn.co, conn.begun = nil, false
            error(want, 0)
        elseif status(co) ~= "dead" then
            return want, what, tag
        end
        conn.co, conn.begun = nil, false
    end
    error("the function that moonlap.load.user names returned " .. MOST_EMPTY
        .. " times without a request or a pause", 0)
end


--- Has a side's requests come from users.
-- @tparam table side
-- @tparam function f the user
-- @tparam table wrk of the script
function _M.attach(side, f, wrk)
    function side.request(conn)
        if not conn.user.request then
            install(conn.user, wrk)
        end
        local want, what, tag = go_on(conn, f)
        if want == SLEEP then
            conn.pause = what
            return nil
        end
        conn.tag = tag or false
        return what
    end

    local respond = side.respond
    side.wants_body = true
    function side.respond(conn, code, head, head_size, body, text)
        if respond then
            respond(conn, code, head, head_size, body)
        end
        conn.answer = {
            status = code, headers = headers.new(text or require("ffi").string(head, head_size)),
                body = body,
        }
    end

    function side.on_failure(conn, kind)
        conn.answer, conn.trouble = nil, kind
    end
end


return _M
