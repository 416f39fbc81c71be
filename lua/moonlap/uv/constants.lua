--- `uv.constants`, and the words that luv takes and gives for them: `"inet"`, `"sigterm"`.
--
-- The numbers are Linux's, the same on every CPU that LuaJIT runs on but MIPS.
-- @module moonlap.uv.constants
local ffi = require "ffi"

local _M = {}

ffi.cdef [[
void *getprotobyname(const char *name);
void *getprotobynumber(int proto);
]]
local protoent_ptr = ffi.typeof "struct { char *p_name; char **p_aliases; int p_proto; } *"

-- luv's 73, by name.
local numbers = {
    O_RDONLY = 0, O_WRONLY = 1, O_RDWR = 2, O_APPEND = 0x400, O_CREAT = 0x40, O_DSYNC = 0x1000,
    O_EXCL = 0x80, O_NOCTTY = 0x100, O_NONBLOCK = 0x800, O_RSYNC = 0x101000, O_SYNC = 0x101000,
    O_TRUNC = 0x200,

    SOCK_STREAM = 1, SOCK_DGRAM = 2, SOCK_RAW = 3, SOCK_RDM = 4, SOCK_SEQPACKET = 5,

    AF_UNIX = 1, AF_INET = 2, AF_AX25 = 3, AF_IPX = 4, AF_APPLETALK = 5, AF_ATMPVC = 8, AF_X25 = 9,
    AF_INET6 = 10, AF_NETLINK = 16, AF_PACKET = 17,

    AI_PASSIVE = 0x1, AI_NUMERICHOST = 0x4, AI_V4MAPPED = 0x8, AI_ALL = 0x10, AI_ADDRCONFIG = 0x20,
    AI_NUMERICSERV = 0x400,

    SIGHUP = 1, SIGINT = 2, SIGQUIT = 3, SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGIOT = 6,
    SIGBUS = 7, SIGFPE = 8, SIGKILL = 9, SIGUSR1 = 10, SIGSEGV = 11, SIGUSR2 = 12, SIGPIPE = 13,
    SIGALRM = 14, SIGTERM = 15, SIGSTKFLT = 16, SIGCHLD = 17, SIGCONT = 18, SIGSTOP = 19,
    SIGTSTP = 20, SIGTTIN = 21, SIGTTOU = 22, SIGURG = 23, SIGXCPU = 24, SIGXFSZ = 25,
    SIGVTALRM = 26, SIGPROF = 27, SIGWINCH = 28, SIGIO = 29, SIGPOLL = 29, SIGPWR = 30, SIGSYS = 31,

    UDP_IPV6ONLY = 1, UDP_PARTIAL = 2, UDP_REUSEADDR = 4, UDP_MMSG_CHUNK = 8, UDP_MMSG_FREE = 16,
    UDP_RECVMMSG = 256, TCP_IPV6ONLY = 1,
}

--- The system's numbers by name: `uv.constants.O_RDONLY`, `AF_INET`, `SOCK_STREAM`, `SIGTERM`, …
-- @field constants
_M.api = { constants = numbers }

-- Numbers with two names are called by the first.
local ALIAS = { SIGIOT = true, SIGPOLL = true }


-- The two maps of the constants that begin with `prefix`: numbers by lower-case word, and back.
local function words(prefix, word_prefix)
    local number_of, word_of = {}, {}
    for name, number in pairs(numbers) do
        if name:sub(1, #prefix) == prefix then
            local word = word_prefix .. name:sub(#prefix + 1):lower()
            number_of[word] = number
            if not ALIAS[name] then
                word_of[number] = word
            end
        end
    end
    return number_of, word_of
end


--- Address families: number by word (`"inet"`), word by number.
_M.family_number, _M.family_word = words("AF_", "")

--- Socket types: number by word (`"stream"`), word by number.
_M.socktype_number, _M.socktype_word = words("SOCK_", "")

--- Signals: number by word (`"sigterm"`), word by number.
_M.signal_number, _M.signal_word = words("SIG", "sig")


-- Protocols that are known also where the system has no list of them, as on a minimal Debian (the
-- numbers are IANA's).
local protocols = { ip = 0, icmp = 1, tcp = 6, udp = 17, ["ipv6-icmp"] = 58 }
local protocol_words = {}
for word, number in pairs(protocols) do
    protocol_words[number] = word
end

--- The number of an IP protocol, as the system's list of protocols has it.
-- @tparam string word such as `"tcp"`
-- @treturn number|nil nil when there is none such
function _M.protocol_number(word)
    local entry = ffi.cast(protoent_ptr, ffi.C.getprotobyname(word))
    return entry ~= nil and entry.p_proto or protocols[word]
end


--- The word for an IP protocol, as the system's list of protocols has it.
-- @tparam number number
-- @treturn string|nil nil when there is none such
function _M.protocol_word(number)
    local entry = ffi.cast(protoent_ptr, ffi.C.getprotobynumber(number))
    return entry ~= nil and ffi.string(entry.p_name) or protocol_words[number]
end


--- A signal as luv takes it: a number or a word; SIGTERM when it is neither.
-- @param value
-- @treturn number 0 for a word that is no signal
function _M.signal(value)
    if type(value) == "string" then
        return tonumber(value) or _M.signal_number[value] or 0
    end
    return type(value) == "number" and value or numbers.SIGTERM
end


return _M
