--- A private nginx for specs: own temporary prefix, one unix socket, gone afterwards.
-- @module spec.support.nginx

local ffi = require "ffi"
local child = require "spec.support.child"

local _M = {}

ffi.cdef [[
    struct spec_sockaddr_un { uint16_t family; char path[108]; };
    int socket(int, int, int);
    int connect(int, const struct spec_sockaddr_un *, unsigned int);
    ssize_t write(int, const void *, size_t);
    ssize_t read(int, void *, size_t);
    int close(int);
    int usleep(unsigned int);
]]
local C = ffi.C
local AF_UNIX, SOCK_STREAM = 1, 1

local MODULES = "/usr/lib/nginx/modules/"

local CONF = [[
%s
worker_processes %d;
error_log error.log warn;
pid nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    lua_package_path "%s;%s/lua/?.lua;%s/lua/?/init.lua;;";
    %s
    server {
        listen unix:%s/socket;
        %s
    }
}
]]

local function output(command)
    local pipe = assert(io.popen(command))
    local text = pipe:read "*a"
    pipe:close()
    return (text:gsub("%s+$", ""))
end

local function exists(path)
    local file = io.open(path)
    return file ~= nil and file:close()
end

local function main_directives()
    local lines = {}
    if output "id -u" == "0" then
        lines[1] = "user root;" -- the prefix is private
    end
    for _, module in ipairs { "ndk_http_module.so", "ngx_http_lua_module.so" } do
        if exists(MODULES .. module) then -- else built in, as in OpenResty
            lines[#lines + 1] = ("load_module %s%s;"):format(MODULES, module)
        end
    end
    return table.concat(lines, "\n")
end

local Server = {}
Server.__index = Server

local function connect(path)
    local fd = C.socket(AF_UNIX, SOCK_STREAM, 0)
    local address = ffi.new("struct spec_sockaddr_un", { family = AF_UNIX, path = path })
    if C.connect(fd, address, ffi.sizeof(address)) ~= 0 then
        C.close(fd)
        return nil
    end
    return fd
end

--- Sends a request, and returns a function that waits for the answer: status and body.
function Server:send(path)
    local fd = assert(connect(self.folder .. "/socket"), "nginx does not answer")
    local text = "GET " .. path .. " HTTP/1.0\r\nHost: spec\r\n\r\n"
    assert(C.write(fd, text, #text) == #text)
    return function()
        local buffer, parts = ffi.new("char[4096]"), {}
        repeat
            local n = tonumber(C.read(fd, buffer, 4096))
            parts[#parts + 1] = ffi.string(buffer, math.max(n, 0))
        until n <= 0
        C.close(fd)
        local answer = table.concat(parts)
        return tonumber(answer:match "^HTTP/1.1 (%d+)"), answer:match "\r\n\r\n(.*)$"
    end
end

--- Body of a GET whose status is 200; an error with nginx's log otherwise.
function Server:get(path)
    local status, body = self:send(path)()
    if status ~= 200 then
        error(("%s: status %s\n%s"):format(path, status, self:log()), 2)
    end
    return body
end

--- nginx's error log.
function Server:log()
    return child.read(self.folder .. "/error.log")
end

--- Waits, in seconds.
function _M.wait(seconds)
    C.usleep(seconds * 1e6)
end

--- Starts nginx, calls body(server), and ends nginx, also after an error.
-- @tparam table options `http`, `server`: directives; `workers` (1); `lua_path`: patterns for
--   modules of the test's own
-- @tparam function(server) body
function _M.with(options, body)
    child.with_folder(function(folder)
        local root = output "pwd -P"
        child.write(folder .. "/nginx.conf", CONF:format(main_directives(), options.workers or 1,
            options.lua_path or "", root, root, options.http or "", folder, options.server))
        -- timeout ends nginx even when this process dies.
        local pid = output(("cd %s && { timeout -s QUIT 120 nginx -p %s -c nginx.conf "
            .. "-g 'daemon off;' >out 2>&1 & echo $!; }"):format(folder, folder))
        local server = setmetatable({ folder = folder }, Server)
        local ready
        for _ = 1, 500 do
            local fd = connect(folder .. "/socket")
            if fd then
                C.close(fd)
                ready = true
                break
            end
            C.usleep(10000)
        end
        local ok, err = true, nil
        if ready then
            ok, err = pcall(body, server)
        end
        os.execute("kill " .. pid .. " 2>/dev/null")
        -- nginx removes its pid file last; the process itself may stay unreaped in a container.
        for _ = 1, 500 do
            if not exists(folder .. "/nginx.pid") then
                break
            end
            C.usleep(10000)
        end
        if not ready then
            error("nginx did not start:\n" .. child.read(folder .. "/out"))
        elseif not ok then
            error(err, 0)
        end
    end)
end

return _M
