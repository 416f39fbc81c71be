-- Finds ngx APIs that the phase of their block refuses, or that are not documented for it.
local roles = require "moonlap.lint.roles"

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

-- What the module's documentation says: phases, and the APIs that are for them. benchmarks/lint
-- writes this table out of its README.
local DOCUMENTED = {
    {"access balancer body_filter content exit_worker header_filter init "
        .. "init_worker log rewrite set ssl_certificate ssl_client_hello "
        .. "ssl_session_fetch ssl_session_store timer",
        "ngx.log ngx.escape_uri ngx.get_phase"},
    {"access balancer body_filter content exit_worker header_filter init "
        .. "init_worker log rewrite set ssl_certificate ssl_client_hello timer",
        "ngx.unescape_uri"},
    {"access balancer body_filter content exit_worker header_filter init_worker "
        .. "log rewrite set ssl_certificate ssl_client_hello ssl_session_fetch "
        .. "ssl_session_store timer",
        "ngx.today ngx.time ngx.now ngx.update_time ngx.localtime ngx.utctime "
        .. "ngx.cookie_time ngx.http_time ngx.parse_http_time ngx.re.match ngx.re.find "
        .. "ngx.re.gmatch ngx.re.sub ngx.re.gsub ngx.timer.running_count "
        .. "ngx.timer.pending_count"},
    {"access balancer body_filter content exit_worker header_filter init_worker "
        .. "log rewrite set timer",
        "ngx.ctx"},
    {"access balancer body_filter content header_filter init_worker log rewrite "
        .. "set ssl_certificate ssl_client_hello ssl_session_fetch ssl_session_store "
        .. "timer",
        "ngx.timer.at ngx.timer.every"},
    {"access balancer body_filter content header_filter log rewrite set",
        "ngx.var ngx.resp.get_headers ngx.req.get_method ngx.req.get_uri_args"},
    {"access balancer body_filter content header_filter log rewrite set "
        .. "ssl_certificate ssl_client_hello ssl_session_fetch ssl_session_store timer",
        "ngx.decode_args ngx.encode_base64 ngx.decode_base64 ngx.crc32_short "
        .. "ngx.crc32_long ngx.hmac_sha1 ngx.md5 ngx.md5_bin ngx.sha1_bin "
        .. "ngx.quote_sql_str"},
    {"access balancer body_filter content header_filter log rewrite set "
        .. "ssl_certificate ssl_client_hello timer",
        "ngx.encode_args"},
    {"access balancer body_filter content header_filter log rewrite set "
        .. "ssl_certificate ssl_session_fetch ssl_session_store timer",
        "ngx.decode_base64mime"},
    {"access balancer content header_filter rewrite ssl_certificate "
        .. "ssl_client_hello ssl_session_fetch ssl_session_store timer",
        "ngx.exit"},
    {"access balancer content rewrite",
        "ngx.req.set_body_data ngx.req.set_body_file"},
    {"access body_filter content exit_worker header_filter init init_worker log "
        .. "rewrite set timer",
        "ngx.config.subsystem ngx.config.debug ngx.config.prefix "
        .. "ngx.config.nginx_version ngx.worker.exiting ngx.worker.pid ngx.worker.count"},
    {"access body_filter content exit_worker header_filter init_worker log "
        .. "rewrite set timer",
        "ngx.worker.id"},
    {"access body_filter content exit_worker header_filter log rewrite set timer",
        "ngx.worker.pids"},
    {"access body_filter content header_filter init log rewrite set timer",
        "ngx.config.nginx_configure ngx.config.ngx_lua_version"},
    {"access body_filter content header_filter log rewrite",
        "ngx.header ngx.req.get_post_args"},
    {"access body_filter content header_filter log rewrite set",
        "ngx.status ngx.req.is_internal ngx.req.start_time ngx.req.get_headers "
        .. "ngx.is_subrequest"},
    {"access body_filter content header_filter rewrite set",
        "ngx.req.set_uri ngx.req.set_uri_args ngx.req.set_header "
        .. "ngx.req.clear_header"},
    {"access content header_filter log rewrite set",
        "ngx.req.http_version ngx.req.raw_header"},
    {"access content header_filter rewrite set",
        "ngx.req.set_method"},
    {"access content log rewrite",
        "ngx.req.get_body_data"},
    {"access content rewrite",
        "ngx.location.capture ngx.location.capture_multi ngx.req.read_body "
        .. "ngx.req.discard_body ngx.req.get_body_file ngx.req.socket ngx.exec "
        .. "ngx.redirect ngx.send_headers ngx.print ngx.say ngx.flush ngx.eof "
        .. "ngx.on_abort ngx.run_worker_thread"},
    {"access content rewrite set",
        "ngx.req.init_body ngx.req.append_body ngx.req.finish_body ngx.headers_sent"},
    {"access content rewrite ssl_certificate ssl_client_hello ssl_session_fetch "
        .. "timer",
        "ngx.sleep ngx.socket.udp ngx.socket.tcp ngx.thread.spawn ngx.thread.wait "
        .. "ngx.thread.kill"},
    {"access content rewrite timer",
        "ngx.socket.connect"},
}

-- APIs that are no functions.
local READ = {["ngx.var"] = true, ["ngx.ctx"] = true, ["ngx.status"] = true, ["ngx.header"] = true}

local function set_of(words)
    local set = {}
    for word in words:gmatch "%S+" do
        set[word] = true
    end
    return set
end

local refused, documented, phases_known = {}, {}, {}
for name, phases in pairs(REFUSED) do
    refused[name] = set_of(phases)
end
for _, group in ipairs(DOCUMENTED) do
    local phases = set_of(group[1])
    for name in pairs(set_of(group[2])) do
        documented[name] = phases
    end
    for phase in pairs(phases) do
        phases_known[phase] = true
    end
end

local function all_refuse(name, phases)
    for _, phase in ipairs(phases) do
        if not refused[name] or not refused[name][phase] then
            return false
        end
    end
    return #phases > 0
end

local function known_as(phase)
    return phase == "timer" and "a timer" or phase .. "_by_lua"
end

-- Tells whether the function that the node stands in asks for the phase: it knows what it does.
local function asks_phase(file)
    local func = file.func.node
    return not func.chunk and file:text(func):find("get_phase", 1, true)
end

local function check(file, node)
    local name = file:name(node.tag == "Call" and node[1] or node)
    if not (name and (refused[name] or documented[name])) or asks_phase(file) then
        return
    end
    local phases = roles.phases(file, file.func.node)
    local phase = phases[1]
    local as = phase == "server_rewrite" and "rewrite" or phase -- as the documentation has it
    if all_refuse(name, phases) then
        file:report(node, name .. " is refused in " .. known_as(phase) .. ": the call throws; "
            .. "move it into a phase that takes it, or into a timer",
            {level = "error"})
    elseif #phases == 1 and phases_known[as] and documented[name] and not documented[name][as] then
        file:report(node, name .. " is not documented for " .. known_as(phase) .. ": another "
            .. "version of the Lua module may refuse it", {level = "note"})
    end
end

return {classes = {"request", "init", "timer"}, visit = {
    Call = check,
    Index = function(file, node)
        if READ[file:name(node)] then
            check(file, node)
        end
    end,
}}
