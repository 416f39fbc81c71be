--- `uv.constants`: luv's 80 of the system's numbers by name, and libuv's newer ones.
--
-- They are Linux's, the same on every CPU that LuaJIT runs on but MIPS.
-- @module moonlap.uv.constants

local C = require "moonlap.uv.ffi"

local _M = {}

--- The system's numbers by name: `uv.constants.O_RDONLY`, `AF_INET`, `SOCK_STREAM`, `SIGTERM`, …
-- @field constants
_M.api = { constants = {
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

    F_OK = 0, X_OK = 1, W_OK = 2, R_OK = 4,

    TTY_MODE_NORMAL = 0, TTY_MODE_RAW = 1, TTY_MODE_IO = 2,
} }

-- By the minor version of the libuv that brought them.
local SINCE = {
    [46] = { PIPE_NO_TRUNCATE = 1 },
    [48] = {
        THREAD_PRIORITY_HIGHEST = 2, THREAD_PRIORITY_ABOVE_NORMAL = 1, THREAD_PRIORITY_NORMAL = 0,
        THREAD_PRIORITY_BELOW_NORMAL = -1, THREAD_PRIORITY_LOWEST = -2,
    },
    [49] = { UDP_REUSEPORT = 64 },
    [51] = { TTY_MODE_RAW_VT = 3, FS_UTIME_NOW = math.huge, FS_UTIME_OMIT = 0 / 0 },
}

for minor, numbers in pairs(SINCE) do
    if C.uv_version() >= 0x010000 + minor * 0x100 then
        for name, number in pairs(numbers) do
            _M.api.constants[name] = number
        end
    end
end

return _M
