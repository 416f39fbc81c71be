-- A stand-in for the harness: does what the job's code says, with a few helpers.
local ffi = require "ffi"

ffi.cdef [[
long standin_write(int fd, const char *data, size_t size) __asm__("write");
int standin_close(int fd) __asm__("close");
int standin_getpid(void) __asm__("getpid");
int standin_prctl(int option, unsigned long value) __asm__("prctl");
]]

local _M = {}


local function channel()
    return 3 + (ngx and ngx.worker.id() or 0)
end


local function raw(text)
    ffi.C.standin_write(channel(), text, #text)
end


local helpers = setmetatable({
    raw = raw,
    getpid = ffi.C.standin_getpid,
    worker = function() return ngx and ngx.worker.id() or 0 end,
    close = function() ffi.C.standin_close(channel()) end,
    process = function()
        raw(('{"type":"process","process":%d,"worker":%d,"case":0,"round":0,"pid":%d,"seed":1,'
            .. '"vm":{"version":"%s","arch":"%s","gc64":true,"jit":true,"opt":[]},'
            .. '"clock":{"source":"monotonic","step_ns":1,"cost_ns":1,"compiled":true}}\n'):format(
            _M.job.process or 0, ngx and ngx.worker.id() or 0, ffi.C.standin_getpid(),
            jit.version, jit.arch))
    end,
    finish = function(stop)
        raw(('{"type":"finish","process":%d,"worker":%d,"stop":"%s","elapsed_ns":1}\n'):format(
            _M.job.process or 0, ngx and ngx.worker.id() or 0, stop or "enough"))
    end,
}, {__index = _G})


function _M.main()
    _M.job = assert(loadstring(os.getenv("MOONLAP_JOB")))()
    helpers.job = _M.job
    for _, code in ipairs(_M.job.code) do
        setfenv(assert(loadstring(code)), helpers)()
    end
end


function _M.nginx(phase)
    ffi.C.standin_prctl(1, 9) -- PR_SET_PDEATHSIG, SIGKILL
    helpers.phase = phase
    _M.main()
end


return _M
