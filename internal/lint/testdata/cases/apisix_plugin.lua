-- A plugin of APISIX's.
local _M = {version = 0.1, priority = 1000, name = "case", schema = {type = "object"}}

function _M.check_schema(conf)
    return conf ~= nil
end

function _M.access(conf)
    ngx.req.read_body()
    ngx.sleep(0)
    return conf
end

function _M.header_filter()
    ngx.exec("/never") --> api-phase
end

function _M.body_filter()
    pcall(ngx.sleep, 0)
    ngx.flush() --> api-phase
end

local function delayed()
    ngx.print("x") --> api-phase
end
_M.delayed_body_filter = delayed

function _M.log(conf)
    local ok = ngx.timer.at(0, function()
        ngx.log(ngx.ERR, ngx.var.uri) --> api-phase
    end)
    return ok and ngx.exit(conf) --> api-phase
end

return _M
