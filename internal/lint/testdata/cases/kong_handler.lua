-- A plugin of Kong's, whose methods run in the phase that they are named after.
local Handler = {VERSION = "1.0.0", PRIORITY = 10}

local function send(conf)
    ngx.socket.tcp() --> api-phase
    return conf
end

local function either()
    if ngx.get_phase() ~= "log" then
        ngx.sleep(0)
    end
end

function Handler:init_worker()
    return ngx.var.uri --> api-phase
end

function Handler:access(conf)
    either()
    ngx.req.read_body()
    return conf
end

function Handler:header_filter(conf)
    ngx.header.x = "1"
    ngx.location.capture("/never") --> api-phase
    return conf
end

function Handler:body_filter(conf)
    if ngx.arg[2] then
        ngx.say(conf) --> api-phase
    end
end

Handler.log = function(_, conf)
    either()
    local ok = ngx.timer.at(0, function()
        ngx.socket.tcp()
        ngx.thread.spawn(function() ngx.sleep(0) end)
    end)
    return ok and send(conf)
end

function Handler.other()
    ngx.say("whoever calls it")
end

return Handler
