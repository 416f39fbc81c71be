--- TLS through OpenSSL's library, whose bytes the engine reads and writes itself.
--
-- OpenSSL sees memory in place of a socket. So a response takes one system call, and not one for a
-- record's head and one for the rest; and the system calls are the engine's own, which cost less
-- than those in the depth of a library (see `kernel`).
-- @module moonlap.load.tls
local bit = require "bit"
local ffi = require "ffi"
local kernel = require "moonlap.load.kernel"

local _M = {}
local mt = { __index = _M }

local receive, send = kernel.receive, kernel.send

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
int SSL_CTX_set_default_verify_paths(moonlap_ssl_ctx *);
int SSL_CTX_load_verify_locations(moonlap_ssl_ctx *, const char *, const char *);
int SSL_CTX_use_certificate_chain_file(moonlap_ssl_ctx *, const char *);
int SSL_CTX_use_PrivateKey_file(moonlap_ssl_ctx *, const char *, int);
int SSL_CTX_check_private_key(const moonlap_ssl_ctx *);
int SSL_CTX_set_alpn_protos(moonlap_ssl_ctx *, const char *, unsigned int);
void SSL_get0_alpn_selected(const moonlap_ssl *, const unsigned char **, unsigned int *);
moonlap_ssl *SSL_new(moonlap_ssl_ctx *);
void SSL_free(moonlap_ssl *);
void SSL_set_bio(moonlap_ssl *, void *, void *);
void SSL_set_connect_state(moonlap_ssl *);
int SSL_do_handshake(moonlap_ssl *);
int SSL_read(moonlap_ssl *, void *, int);
int SSL_write(moonlap_ssl *, const void *, int);
int SSL_get_error(const moonlap_ssl *, int);
int SSL_has_pending(const moonlap_ssl *);
const void *BIO_s_mem(void);
void *BIO_new(const void *);
int BIO_read(void *, void *, int);
int BIO_write(void *, const void *, int);
size_t BIO_ctrl_pending(void *);
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

local CTRL_MODE, CTRL_SESS_CACHE_MODE, CTRL_HOSTNAME = 33, 44, 55
local PARTIAL_WRITE, MOVING_BUFFER, AUTO_RETRY = 1, 2, 4
local OP_IGNORE_UNEXPECTED_EOF = bit.lshift(1ULL, 7)
local PEM = 1
local WANT_READ, WANT_WRITE, ZERO_RETURN = 2, 3, 6
local EINTR, EAGAIN, EPROTO = 4, 11, 71

-- Encrypted bytes on their way from or to a socket.
local SIZE = 65536
local cipher = ffi.new("uint8_t[?]", SIZE)


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
    elseif not settings.insecure then
        library.SSL_CTX_set_default_verify_paths(ctx) -- which takes 30 ms
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
    library.SSL_CTX_ctrl(ctx, CTRL_SESS_CACHE_MODE, 0, nil)
    library.SSL_CTX_set_options(ctx, OP_IGNORE_UNEXPECTED_EOF)
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
    local input, output = library.BIO_new(library.BIO_s_mem()), library.BIO_new(library.BIO_s_mem())
    if ssl == nil or input == nil or output == nil then
        self.problem = reasons(library) or "no memory for a TLS connection"
        return false
    end
    library.SSL_set_bio(ssl, input, output) -- which owns them now
    conn.tls, conn.tls_in, conn.tls_out = ssl, input, output
    conn.tls_rest, conn.tls_more = false, false
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


-- Sends bytes, as many as the socket takes: the rest is kept. Minus an errno when it failed.
local function put(conn, data, size)
    local n = send(conn.fd, data, size)
    if n == size then
        conn.tls_rest = false
        return 0
    elseif n >= 0 then -- less than asked for: ask again, or no edge will come
        return put(conn, data + n, size - n)
    elseif n == -EINTR then
        return put(conn, data, size)
    end
    conn.tls_rest = ffi.string(data, size)
    return n
end


-- Sends what OpenSSL has encrypted: 0 when all is out, minus an errno.
local function flush(self, conn)
    local rest = conn.tls_rest
    if rest then
        local n = put(conn, ffi.cast("const uint8_t *", rest), #rest)
        if n < 0 then
            return n
        end
    end
    local size = self.library.BIO_read(conn.tls_out, cipher, SIZE)
    if size <= 0 then
        return 0
    end
    local n = put(conn, ffi.cast("const uint8_t *", cipher), size)
    if n < 0 or size < SIZE then
        return n
    end
    return flush(self, conn)
end


-- Hands OpenSSL what the socket has: how many bytes, 0 at the end, minus an errno.
local function pull(self, conn)
    local n = receive(conn.fd, cipher, SIZE)
    if n > 0 then
        self.library.BIO_write(conn.tls_in, cipher, n)
    elseif n == -EINTR then
        return pull(self, conn)
    end
    return n
end


--- Goes on with the handshake: true when it is done, false when it waits, nil when it failed.
function _M:handshake(conn)
    local library, ssl = self.library, conn.tls
    local last = 1 -- what the socket said
    while last > 0 do
        local n = library.SSL_do_handshake(ssl)
        local number = n == 1 and 0 or library.SSL_get_error(ssl, n)
        flush(self, conn) -- also the alert that says why; that the socket is broken comes again
        if n == 1 then
            if library.SSL_session_reused(ssl) == 1 then
                local counters = conn.side.counters
                counters.resumed = counters.resumed + 1
            end
            conn.tls_more = library.BIO_ctrl_pending(conn.tls_in) > 0
            return true
        elseif number ~= WANT_READ and number ~= WANT_WRITE then
            break
        end
        last = pull(self, conn)
    end
    if last == -EAGAIN then
        return false
    end
    local verify = tonumber(library.SSL_get_verify_result(ssl))
    local reason = reasons(library)
    if verify ~= 0 and not self.insecure then
        reason = "certificate not accepted: "
            .. ffi.string(library.X509_verify_cert_error_string(verify))
    elseif not reason then
        reason = last < 0 and ffi.string(ffi.C.strerror(-last)) or "the server ended the handshake"
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
    self.problem = reasons(self.library) or "OpenSSL gives no reason"
    return -EPROTO
end


--- Reads what there is: bytes, 0 at the end, or minus an errno.
function _M:read(conn, buffer, size)
    local library = self.library
    if conn.tls_rest then
        local sent = flush(self, conn)
        if sent < 0 and sent ~= -EAGAIN then
            return sent
        end
    end
    local may_be_full = false
    if not conn.tls_more then
        local got = pull(self, conn)
        if got <= 0 then
            return got
        end
        may_be_full = got == SIZE
    end
    local n = library.SSL_read(conn.tls, buffer, size)
    if n > 0 then
        conn.tls_more = library.BIO_ctrl_pending(conn.tls_in) > 0
            or library.SSL_has_pending(conn.tls) == 1
        conn.tls_full = may_be_full
        return n
    end
    conn.tls_more = false
    n = failure(self, conn, n)
    if n == -EAGAIN then -- part of a record, or a message of TLS itself
        return self:read(conn, buffer, size)
    end
    return n
end


--- Writes: bytes taken, or minus an errno. What is taken may wait for the socket: reading sends it.
function _M:write(conn, data, size)
    if conn.tls_rest then
        local sent = flush(self, conn)
        if sent < 0 then
            return sent
        end
    end
    local n = self.library.SSL_write(conn.tls, data, size)
    if n <= 0 then
        return failure(self, conn, n)
    end
    local sent = flush(self, conn)
    return (sent == 0 or sent == -EAGAIN) and n or sent
end


--- Whether reading again may bring something that epoll will not tell of.
function _M.more(_, conn)
    return conn.tls_more or conn.tls_full
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
        flush(self, conn)
        reasons(library)
    end
    library.SSL_free(ssl)
    conn.tls, conn.tls_in, conn.tls_out, conn.tls_rest = false, false, false, false
end


return _M
