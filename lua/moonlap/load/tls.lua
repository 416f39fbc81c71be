--- TLS through OpenSSL's library, on sockets that the engine reads and writes itself otherwise.
--
-- OpenSSL reads ahead, so that a response takes one system call, and not one for a record's head
-- and one for the rest.
-- @module moonlap.load.tls
local bit = require "bit"
local ffi = require "ffi"

local _M = {}
local mt = { __index = _M }

local LIBRARIES = { "libssl.so.3", "libssl.so.1.1", "ssl" }

ffi.cdef [[
typedef struct ssl_st moonlap_ssl;
typedef struct ssl_ctx_st moonlap_ssl_ctx;
typedef struct ssl_session_st moonlap_ssl_session;
const void *TLS_client_method(void);
moonlap_ssl_ctx *SSL_CTX_new(const void *);
void SSL_CTX_free(moonlap_ssl_ctx *);
long SSL_CTX_ctrl(moonlap_ssl_ctx *, int, long, void *);
uint64_t SSL_CTX_set_options(moonlap_ssl_ctx *, uint64_t);
void SSL_CTX_set_verify(moonlap_ssl_ctx *, int, void *);
void SSL_CTX_set_default_read_buffer_len(moonlap_ssl_ctx *, size_t);
int SSL_CTX_set_default_verify_paths(moonlap_ssl_ctx *);
int SSL_CTX_load_verify_locations(moonlap_ssl_ctx *, const char *, const char *);
int SSL_CTX_use_certificate_chain_file(moonlap_ssl_ctx *, const char *);
int SSL_CTX_use_PrivateKey_file(moonlap_ssl_ctx *, const char *, int);
int SSL_CTX_check_private_key(const moonlap_ssl_ctx *);
int SSL_CTX_set_alpn_protos(moonlap_ssl_ctx *, const char *, unsigned int);
void SSL_get0_alpn_selected(const moonlap_ssl *, const unsigned char **, unsigned int *);
moonlap_ssl *SSL_new(moonlap_ssl_ctx *);
void SSL_free(moonlap_ssl *);
int SSL_set_fd(moonlap_ssl *, int);
void SSL_set_connect_state(moonlap_ssl *);
int SSL_do_handshake(moonlap_ssl *);
int SSL_read(moonlap_ssl *, void *, int);
int SSL_write(moonlap_ssl *, const void *, int);
int SSL_get_error(const moonlap_ssl *, int);
int SSL_has_pending(const moonlap_ssl *);
void *SSL_get_rbio(const moonlap_ssl *);
uint64_t BIO_number_read(void *);
int SSL_shutdown(moonlap_ssl *);
long SSL_ctrl(moonlap_ssl *, int, long, void *);
int SSL_set1_host(moonlap_ssl *, const char *);
long SSL_get_verify_result(const moonlap_ssl *);
moonlap_ssl_session *SSL_get1_session(moonlap_ssl *);
int SSL_set_session(moonlap_ssl *, moonlap_ssl_session *);
int SSL_session_reused(const moonlap_ssl *);
int SSL_SESSION_is_resumable(const moonlap_ssl_session *);
void SSL_SESSION_free(moonlap_ssl_session *);
unsigned long ERR_get_error(void);
const char *ERR_reason_error_string(unsigned long);
const char *X509_verify_cert_error_string(long);
]]

local CTRL_MODE, CTRL_READ_AHEAD, CTRL_SESS_CACHE_MODE, CTRL_HOSTNAME = 33, 41, 44, 55
local PARTIAL_WRITE, MOVING_BUFFER, AUTO_RETRY = 1, 2, 4
local OP_IGNORE_UNEXPECTED_EOF = bit.lshift(1ULL, 7)
local PEM = 1
local WANT_READ, WANT_WRITE, SYSCALL, ZERO_RETURN = 2, 3, 5, 6
local EAGAIN, EPROTO = 11, 71
local READ_BUFFER = 65536
local LEAST_FULL = 32768 -- a read of OpenSSL that was not all of the socket brought more than this


local function load_library()
    local err
    for _, name in ipairs(LIBRARIES) do
        local ok, library = pcall(ffi.load, name)
        if ok then
            return library
        end
        err = err or library
    end
    return nil, "https needs OpenSSL's library (Debian: apt install libssl3): " .. tostring(err)
end


-- What OpenSSL noted, oldest first; its list is empty afterwards.
local function reasons(library)
    local list = {}
    local number = library.ERR_get_error()
    while number ~= 0 do
        local text = library.ERR_reason_error_string(number)
        list[#list + 1] = text ~= nil and ffi.string(text) or ("error %s"):format(tostring(number))
        number = library.ERR_get_error()
    end
    return list[1]
end


-- Certificates and keys of the settings.
local function load_files(library, ctx, settings)
    if settings.ca then
        if library.SSL_CTX_load_verify_locations(ctx, settings.ca, nil) ~= 1 then
            return nil, "tls.ca " .. settings.ca .. ": " .. (reasons(library) or "cannot be read")
        end
    else
        library.SSL_CTX_set_default_verify_paths(ctx)
    end
    if settings.cert then
        local key = settings.key or settings.cert
        if library.SSL_CTX_use_certificate_chain_file(ctx, settings.cert) ~= 1 then
            return nil, "tls.cert " .. settings.cert .. ": " .. (reasons(library)
                or "cannot be read")
        elseif library.SSL_CTX_use_PrivateKey_file(ctx, key, PEM) ~= 1 then
            return nil, "tls.key " .. key .. ": " .. (reasons(library) or "cannot be read")
        elseif library.SSL_CTX_check_private_key(ctx) ~= 1 then
            return nil, "tls.key " .. key .. " does not belong to tls.cert " .. settings.cert
        end
    end
    return true
end


--- The TLS of a side.
-- @tparam table settings `insecure`, `sni`, `ca`, `cert`, `key`, `resume`
-- @tparam string host of the URL
-- @tparam[opt] string protocols that ALPN offers, each with its length before it
-- @treturn table; or nil and why not
function _M.new(settings, host, protocols)
    local library, err = load_library()
    if not library then
        return nil, err
    end
    local ctx = library.SSL_CTX_new(library.TLS_client_method())
    if ctx == nil then
        return nil, "OpenSSL makes no context: " .. (reasons(library) or "no reason given")
    end
    library.SSL_CTX_ctrl(ctx, CTRL_MODE, PARTIAL_WRITE + MOVING_BUFFER + AUTO_RETRY, nil)
    library.SSL_CTX_ctrl(ctx, CTRL_READ_AHEAD, 1, nil)
    library.SSL_CTX_ctrl(ctx, CTRL_SESS_CACHE_MODE, 0, nil)
    library.SSL_CTX_set_options(ctx, OP_IGNORE_UNEXPECTED_EOF)
    library.SSL_CTX_set_default_read_buffer_len(ctx, READ_BUFFER)
    library.SSL_CTX_set_verify(ctx, settings.insecure and 0 or 1, nil)
    if protocols then
        library.SSL_CTX_set_alpn_protos(ctx, protocols, #protocols)
    end
    local ok
    ok, err = load_files(library, ctx, settings)
    if not ok then
        library.SSL_CTX_free(ctx)
        return nil, err
    end
    return setmetatable({
        library = library, ctx = ctx, insecure = settings.insecure, host = settings.sni or host,
        resume = settings.resume ~= false, session = false, problem = false,
    }, mt)
end


--- Begins a connection's TLS. False, and `problem`, when that is not possible.
function _M:open(conn)
    local library = self.library
    local ssl = library.SSL_new(self.ctx)
    if ssl == nil or library.SSL_set_fd(ssl, conn.fd) ~= 1 then
        self.problem = reasons(library) or "no memory for a TLS connection"
        return false
    end
    conn.tls, conn.tls_bytes = ssl, 0
    if self.host and not self.host:find "^[%d.]+$" and not self.host:find(":", 1, true) then
        library.SSL_ctrl(ssl, CTRL_HOSTNAME, 0, ffi.cast("void *", self.host))
    end
    if self.host and not self.insecure then
        library.SSL_set1_host(ssl, self.host)
    end
    if self.session then
        library.SSL_set_session(ssl, self.session)
    end
    library.SSL_set_connect_state(ssl)
    return true
end


--- Goes on with the handshake: true when it is done, false when it waits, nil when it failed.
function _M:handshake(conn)
    local library, ssl = self.library, conn.tls
    local n = library.SSL_do_handshake(ssl)
    if n == 1 then
        if library.SSL_session_reused(ssl) == 1 then
            local counters = conn.side.counters
            counters.resumed = counters.resumed + 1
        end
        return true
    end
    local number = library.SSL_get_error(ssl, n)
    if number == WANT_READ or number == WANT_WRITE then
        return false
    end
    local errno = ffi.errno()
    local verify = tonumber(library.SSL_get_verify_result(ssl))
    local reason = reasons(library)
    if verify ~= 0 and not self.insecure then
        reason = "certificate not accepted: "
            .. ffi.string(library.X509_verify_cert_error_string(verify))
    elseif not reason then
        reason = number == SYSCALL and errno ~= 0 and ffi.string(ffi.C.strerror(errno))
            or "the server ended the handshake"
    end
    self.problem = "handshake: " .. reason
    return nil
end


-- The result of SSL_read and SSL_write that is no count of bytes: 0 for the end, else minus an
-- errno.
local function failure(self, conn, n)
    local number = self.library.SSL_get_error(conn.tls, n)
    if number == WANT_READ or number == WANT_WRITE then
        return -EAGAIN
    elseif number == ZERO_RETURN then
        return 0
    end
    local errno = ffi.errno()
    local reason = reasons(self.library)
    if number == SYSCALL and not reason then
        return errno == 0 and 0 or -errno
    end
    self.problem = reason or "OpenSSL gives no reason"
    return -EPROTO
end


--- Reads what there is: bytes, 0 at the end, or minus an errno.
function _M:read(conn, buffer, size)
    local n = self.library.SSL_read(conn.tls, buffer, size)
    if n > 0 then
        return n
    end
    return failure(self, conn, n)
end


--- Writes: bytes taken, or minus an errno.
function _M:write(conn, data, size)
    local n = self.library.SSL_write(conn.tls, data, size)
    if n > 0 then
        return n
    end
    return failure(self, conn, n)
end


--- Whether reading again may bring something that epoll will not tell of.
function _M:more(conn)
    local library, ssl = self.library, conn.tls
    -- phase 0: between responses
    if conn.phase ~= 0 or conn.have > 0 or library.SSL_has_pending(ssl) == 1 then
        return true
    end
    -- OpenSSL may have filled its buffer exactly, and used it up: then the socket may hold more.
    local total = tonumber(library.BIO_number_read(library.SSL_get_rbio(ssl)))
    local may_be_full = total - conn.tls_bytes >= LEAST_FULL
    conn.tls_bytes = total
    return may_be_full
end


--- Ends a connection's TLS. Its session serves the next handshake.
function _M:close(conn)
    local library, ssl = self.library, conn.tls
    if self.resume and conn.answered == 1 then
        local session = library.SSL_get1_session(ssl)
        if session ~= nil then
            if library.SSL_SESSION_is_resumable(session) == 1 then
                if self.session then
                    library.SSL_SESSION_free(self.session)
                end
                self.session = session
            else
                library.SSL_SESSION_free(session)
            end
        end
    end
    if conn.answered == 1 then
        library.SSL_shutdown(ssl) -- a session that is not closed in order must not be resumed
        reasons(library)
    end
    library.SSL_free(ssl)
    conn.tls = false
end


return _M
