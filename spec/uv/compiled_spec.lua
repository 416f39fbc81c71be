local child = require "spec.support.child"
local support = require "spec.support.uv"

-- Each line is a program of spec/support/uv_mixture.lua: sources, what callbacks do, how the loop
-- runs.
local MIXTURES = [[
    near                                    plain       default
    near,far                                closure     default
    near,far                                plain       nowait
    cancelled,idle                          plain       default
    cancelled,tcp                           closure     default
    repeating,tcp                           loop        default
    repeating,cancelled,far                 throw       default
    many,near                               plain       default
    many,far                                closure     default
    many                                    coroutine   nowait
    idle                                    plain       default
    idle,far                                closure     default
    idle,tcp,far                            plain       default
    idle,near                               loop        once
    idle,far                                coroutine   nowait
    idle,repeating                          throw       default
    phases                                  plain       default
    phases,tcp                              closure     default
    phases,near                             loop        stop
    tcp                                     plain       default
    tcp,far                                 closure     default
    tcp,pipe,near                           loop        default
    tcp                                     plain       once
    tcp,far                                 coroutine   nowait
    pipe,cancelled                          throw       default
    short                                   plain       default
    short,far                               closure     default
    short,repeating                         loop        once
    short,idle                              coroutine   default
    udp                                     plain       default
    udp,far                                 closure     default
    udp,tcp                                 loop        nowait
    fs                                      plain       default
    fs,near                                 closure     once
    fs_sync,far                             plain       default
    fs_sync,tcp                             closure     default
    dns,near                                plain       default
    work                                    plain       default
    work,tcp                                closure     default
    async                                   plain       default
    async,far                               loop        default
    process,near                            plain       default
    process,tcp                             coroutine   default
    signal,near                             closure     default
    signal,tcp                              plain       once
    near,late-tcp                           plain       default
    idle,late-udp,late-short                closure     default
    tcp,late-fs,late-async                  loop        default
    near,tcp,udp,fs,work,async,signal       closure     default
    far,idle,pipe,dns,process,late-many     throw       default
    near,tcp                                varargs     default
    udp,tcp                                 fresh_coroutine default
    tcp,pipe                                library     default
    idle,many                               library     default
    near,tcp,fs                             collect     default
    idle,udp                                collect     stop
    short                                   collect     nowait
    making,many                             collect     default
    early,tcp                               plain       default
    go,near                                 collect     once
    work,dns,async                          collect     once
    tcp,near                                flush       default
    phases                                  flush       nowait
    tcp,idle                                prototypes  default
    udp,near                                recursion   default
    tcp,fs,idle                             change      default
    work,async                              change      default
    near,short                              caught      default
    poll,tcp                                loop        nowait
    fs_event,tcp                            closure     once
    fs_poll,near                            library     default
    folder,far                              closure     default
    missing,tcp                             throw       default
    go,near                                 closure     default
    go,tcp                                  fresh_coroutine nowait
    pieces,far                              closure     default
    walk,tcp                                loop        default
    making,idle                             library     default
    thread,async                            closure     default
    children,tcp                            closure     default
    tcp,late-making,late-poll,late-udp      closure     default
    near,late-go,late-pieces                plain       default
    many,late-idle,late-short               library     default
    udp,late-many,late-work,late-thread     closure     default
]]

describe("LuaJIT, which compiles programs with moonlap.uv,", support.with_uv(function()
    local root = io.popen("pwd -P"):read "*l"

    local function run(sources, body, way)
        return child.with_folder(function(folder)
            local done = child.start(folder, {
                args = { root .. "/spec/support/uv_mixture.lua", sources, body, way, "3000" },
                prefix = "timeout 60 0</dev/null ",
            })
            assert(done.status == 0, done.stderr)
            return require("cjson").decode(done.stdout)
        end)
    end

    for sources, body, way in MIXTURES:gmatch "(%S+) +(%S+) +(%S+)" do
        it(("blacklists nothing: %s, %s, %s"):format(sources, body, way), function()
            local got = run(sources, body, way)
            assert.is_true(got.events > 10)
            assert.equal("", got.blacklisted)
            assert.equal("", got.storms)
        end)
    end

    -- A function that several call is compiled for the first of them. The others' way out of its
    -- trace would end in the interpreter for good, where a call of C takes a microsecond.
    it("compiles each function of files for itself", function()
        local lost = child.answer [[
            local uv = require "moonlap.uv"
            local util, lost, place = require "jit.util", {}, nil
            jit.attach(function(what, trace, fn, pc)
                if what == "start" then
                    place = util.funcinfo(fn, pc).loc
                elseif what == "stop" and util.traceinfo(trace).linktype == "interpreter" then
                    lost[#lost + 1] = place
                end
            end, "trace")
            local n = 0
            local function file()
                uv.fs_open("/dev/zero", "r", 0, function(_, fd)
                    uv.fs_fstat(fd, function()
                        uv.fs_read(fd, 10, 0, function()
                            uv.fs_close(fd, function()
                                n = n + 1
                                if n < 2000 then file() end
                            end)
                        end)
                    end)
                end)
            end
            file()
            uv.run()
            local ours = {}
            for _, at in ipairs(lost) do
                if at:match "fs_%w+%.lua" then ours[#ours + 1] = at end
            end
            answer { n = n, lost = table.concat(ours, " ") }
        ]]
        assert.same({ n = 2000, lost = "" }, lost)
    end)
end))
