-- Finds ngx APIs in a block of nginx.conf whose phase refuses them.

-- What nginx itself refused, by phase: a test asks a real one, and writes this table.
local REFUSED = {
    ["ngx.sleep"] = "balancer body_filter header_filter init init_worker log set",
    ["ngx.say"] = "balancer body_filter header_filter init init_worker log set "
        .. "timer",
    ["ngx.print"] = "balancer body_filter header_filter init init_worker log set "
        .. "timer",
    ["ngx.flush"] = "balancer body_filter header_filter init init_worker log set "
        .. "timer",
    ["ngx.eof"] = "balancer body_filter header_filter init init_worker set "
        .. "timer",
    ["ngx.exit"] = "body_filter init init_worker log set",
    ["ngx.exec"] = "balancer body_filter header_filter init init_worker log set "
        .. "timer",
    ["ngx.redirect"] = "balancer body_filter header_filter init init_worker log set "
        .. "timer",
    ["ngx.send_headers"] = "balancer body_filter header_filter init init_worker log set "
        .. "timer",
    ["ngx.on_abort"] = "init init_worker timer",
    ["ngx.location.capture"] = "balancer body_filter header_filter init init_worker log set "
        .. "timer",
    ["ngx.location.capture_multi"] = "balancer body_filter header_filter init init_worker log set "
        .. "timer",
    ["ngx.req.read_body"] = "balancer body_filter header_filter init_worker log set timer",
    ["ngx.req.discard_body"] = "init_worker timer",
    ["ngx.req.get_body_data"] = "init_worker timer",
    ["ngx.req.get_body_file"] = "init_worker timer",
    ["ngx.req.set_body_data"] = "init_worker timer",
    ["ngx.req.init_body"] = "init init_worker timer",
    ["ngx.req.get_post_args"] = "init init_worker timer",
    ["ngx.req.get_headers"] = "init init_worker timer",
    ["ngx.req.get_uri_args"] = "init init_worker timer",
    ["ngx.req.set_uri_args"] = "init init_worker timer",
    ["ngx.req.set_uri"] = "init init_worker timer",
    ["ngx.req.set_header"] = "init init_worker timer",
    ["ngx.req.clear_header"] = "init init_worker timer",
    ["ngx.req.get_method"] = "init init_worker timer",
    ["ngx.req.set_method"] = "init init_worker timer",
    ["ngx.req.http_version"] = "init init_worker timer",
    ["ngx.req.raw_header"] = "init init_worker timer",
    ["ngx.req.start_time"] = "init",
    ["ngx.req.is_internal"] = "init init_worker timer",
    ["ngx.resp.get_headers"] = "init init_worker timer",
    ["ngx.socket.tcp"] = "balancer body_filter header_filter init init_worker log set",
    ["ngx.socket.udp"] = "balancer body_filter header_filter init init_worker log set",
    ["ngx.socket.connect"] = "balancer body_filter header_filter init init_worker log set",
    ["ngx.thread.spawn"] = "balancer body_filter header_filter init init_worker log set",
    ["ngx.is_subrequest"] = "init init_worker timer",
    ["ngx.headers_sent"] = "init init_worker timer",
    ["ngx.var"] = "init init_worker timer",
    ["ngx.ctx"] = "init",
    ["ngx.header"] = "init init_worker timer",
    ["ngx.status"] = "init init_worker timer",
}

-- APIs that are no functions.
local READ = {["ngx.var"] = true, ["ngx.ctx"] = true, ["ngx.status"] = true, ["ngx.header"] = true}

local refused = {}
for name, phases in pairs(REFUSED) do
    refused[name] = {}
    for phase in phases:gmatch "%S+" do
        refused[name][phase] = true
    end
end

local function check(file, node)
    local func = file.func
    if not file.phase or func.class == "timer" then
        return
    end
    local name = file:name(node.tag == "Call" and node[1] or node)
    local phases = name and refused[name]
    if phases and phases[file.phase] then
        file:report(node, string.format("%s is refused in %s_by_lua: it throws", name, file.phase))
    end
end

return {classes = {"request", "init"}, visit = {
    Call = check,
    Index = function(file, node)
        local name = file:name(node)
        if READ[name] then
            check(file, node)
        end
    end,
}}
