local child = require "spec.support.child"
local support = require "spec.support.uv"

-- What libuv has had since 1.44: by minor version.
local NEWER = {
    [46] = { "PIPE_NO_TRUNCATE" },
    [48] = {
        "THREAD_PRIORITY_HIGHEST", "THREAD_PRIORITY_ABOVE_NORMAL", "THREAD_PRIORITY_NORMAL",
        "THREAD_PRIORITY_BELOW_NORMAL", "THREAD_PRIORITY_LOWEST",
    },
    [49] = { "UDP_REUSEPORT" },
    [51] = { "TTY_MODE_RAW_VT", "FS_UTIME_NOW", "FS_UTIME_OMIT" },
}

describe("uv.constants", support.with_uv(function(uv)
    local since = {}
    for minor, names in pairs(NEWER) do
        for _, name in ipairs(names) do
            since[name] = minor
        end
    end

    it("are luv's 80, and those of a newer libuv", function()
        local count = 0
        for name, value in pairs(uv.constants) do
            assert.equal("number", type(value), name)
            count = count + (since[name] and 0 or 1)
        end
        assert.equal(80, count)
        for name, minor in pairs(since) do
            local wanted = uv.version() >= 0x010000 + minor * 0x100
            assert.equal(wanted, uv.constants[name] ~= nil, name)
        end
    end)

    it("are the compiler's", function()
        local headers = { "fcntl.h", "netdb.h", "signal.h", "sys/socket.h", "unistd.h", "uv.h" }
        local source = { "#define _GNU_SOURCE\n#include <stdio.h>\n" }
        for _, header in ipairs(headers) do
            source[#source + 1] = "#include <" .. header .. ">\n"
        end
        source[#source + 1] = "int main(void) {\n"
        for name in pairs(uv.constants) do
            if not since[name] then -- the headers may be older than the library
                local c_name = name:find "^[UT][DCT][PY]_" and "UV_" .. name or name
                source[#source + 1] = ('printf("%s %%d\\n", (int)%s);\n'):format(name, c_name)
            end
        end
        source[#source + 1] = "return 0; }\n"
        child.with_folder(function(folder)
            child.write(folder .. "/c.c", table.concat(source))
            if os.execute("cd " .. folder .. " && cc -o c c.c 2>errors && ./c >out") ~= 0 then
                assert(not os.getenv "MOONLAP_TEST_REQUIRE_ALL", "no compiler, or no headers")
                return pending("no C compiler with libuv1-dev: script/bootstrap test")
            end
            local count = 0
            for name, value in child.read(folder .. "/out"):gmatch "(%S+) (%d+)" do
                assert.equal(tonumber(value), uv.constants[name], name)
                count = count + 1
            end
            assert.equal(80, count)
        end)
    end)
end))

describe("uv, of the system", support.with_uv(function(uv)
    it("tells libuv's version", function()
        local major, minor, patch = uv.version_string():match "^(%d+)%.(%d+)%.(%d+)"
        assert.equal(uv.version(), major * 65536 + minor * 256 + patch)
    end)

    it("has a clock that goes on", function()
        local before = uv.hrtime()
        uv.sleep(1)
        assert.is_true(uv.hrtime() - before >= 1e6)
        local seconds, microseconds = uv.gettimeofday()
        assert.is_true(math.abs(seconds - os.time()) <= 2)
        assert.is_true(microseconds >= 0 and microseconds < 1e6)
        assert.is_true(uv.uptime() > 0)
    end)

    it("knows memory, CPUs and load", function()
        assert.is_true(uv.resident_set_memory() > 0)
        assert.is_true(uv.resident_set_memory() < uv.get_total_memory())
        assert.is_true(uv.get_free_memory() <= uv.get_total_memory())
        assert.is_true(uv.get_constrained_memory() >= 0)
        assert.equal(3, select("#", uv.loadavg()))
        assert.is_true(uv.available_parallelism() >= 1)
        local cpus = uv.cpu_info()
        assert.is_true(#cpus >= 1)
        assert.equal("number", type(cpus[1].times.idle))
        local usage = uv.getrusage()
        assert.equal("number", type(usage.utime.usec))
        assert.is_true(usage.maxrss > 0)
    end)

    it("lists the network's interfaces", function()
        for name, list in pairs(uv.interface_addresses()) do
            assert.equal("string", type(name))
            for _, address in ipairs(list) do
                assert.equal(6, #address.mac)
                assert.equal("boolean", type(address.internal))
                assert.truthy(address.ip:find(address.family == "inet" and "^%d+%." or "[:<]"))
            end
        end
    end)

    it("guesses what a descriptor is", function()
        local fd = assert(uv.fs_open(".luacheckrc", "r", 0))
        assert.equal("file", uv.guess_handle(fd))
        uv.fs_close(fd)
        assert.equal(0, select("#", uv.guess_handle(1e6)))
    end)
end))

describe("uv, of this process", support.with_uv(function(uv)
    it("reads and writes the environment", function()
        assert.is_true(uv.os_setenv("MOONLAP_SPEC", "value"))
        assert.equal("value", uv.os_getenv("MOONLAP_SPEC"))
        assert.equal("value", os.getenv "MOONLAP_SPEC")
        assert.equal("value", uv.os_environ().MOONLAP_SPEC)
        uv.os_setenv("MOONLAP_SPEC", ("x"):rep(20000))
        assert.equal(20000, #uv.os_getenv "MOONLAP_SPEC")
        assert.equal(20000, #uv.os_getenv("MOONLAP_SPEC", 5))
        for _, size in ipairs { 0, -1, 2^40, 0 / 0 } do
            assert.equal("EINVAL", select(3, uv.os_getenv("MOONLAP_SPEC", size)))
        end
        assert.is_true(uv.os_unsetenv("MOONLAP_SPEC"))
        assert.equal("ENOENT", select(3, uv.os_getenv("MOONLAP_SPEC")))
    end)

    it("knows who and where it is", function()
        assert.equal(uv.getpid(), uv.os_getpid())
        assert.is_true(uv.os_getppid() > 0)
        assert.equal(uv.getuid(), uv.os_get_passwd().uid)
        assert.equal(uv.getgid(), uv.os_get_passwd().gid)
        assert.truthy(uv.exepath():find "^/")
        assert.equal("Linux", uv.os_uname().sysname)
        assert.is_true(#uv.os_gethostname() > 0)
        assert.truthy(uv.os_tmpdir():find "^/")
        assert.equal("number", type(uv.os_getpriority(0)))
    end)

    it("changes its folder", function()
        local before = uv.cwd()
        assert.equal(0, uv.chdir("/"))
        assert.equal("/", uv.cwd())
        assert.equal(0, uv.chdir(before))
        assert.equal("ENOENT: no such file or directory", (select(2, uv.chdir("nowhere"))))
    end)

    it("makes random bytes", function()
        assert.equal(16, #uv.random(16))
        assert.not_equal(uv.random(16), uv.random(16))
        assert.equal("E2BIG", select(3, uv.random(-1)))
        local err, bytes = support.await(uv, function(callback)
            assert.equal(0, uv.random(32, nil, callback))
        end)
        assert.is_nil(err)
        assert.equal(32, #bytes)
    end)
end))
