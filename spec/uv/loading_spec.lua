local child = require "spec.support.child"
local support = require "spec.support.uv"

local FOLDER = "lua/moonlap/uv/"

local function modules()
    local names = {}
    local pipe = assert(io.popen("ls " .. FOLDER))
    for file in pipe:lines() do
        names[#names + 1] = assert(file:match "^([%w_]+)%.lua$", file)
    end
    pipe:close()
    return names
end

-- Says what a module does not declare or require itself, although it uses it.
local ALONE = [[
    local name, text = %q, %q
    local ok, err = pcall(require, "moonlap.uv." .. name)
    local missing = {}
    local function try(lib, symbol)
        local _, why = pcall(function() return lib[symbol] end)
        if why and tostring(why):find "missing declaration" then
            missing[#missing + 1] = symbol
        end
    end
    if ok then
        text = text:gsub("%%-%%-[^\n]*", "")
        for symbol in text:gmatch "%%f[%%w_]C%%.(uv[%%w_]+)" do
            try(require "moonlap.uv.ffi", symbol)
        end
        for symbol in text:gmatch "%%f[%%w_]ffi%%.C%%.([%%w_]+)" do
            try(require "ffi".C, symbol)
        end
        for symbol in text:gmatch '%%((.uv_[%%w_]+.),' do
            try(require "moonlap.uv.ffi", symbol:match '"(.*)"')
        end
    end
    answer { error = not ok and err or nil, missing = missing }
]]

describe("moonlap.uv's modules", support.with_uv(function()
    local listed = require "moonlap.uv.functions"

    it("are all listed, with all their functions", function()
        for _, name in ipairs(modules()) do
            local api = require("moonlap.uv." .. name)
            api = type(api) == "table" and rawget(api, "api") or {}
            local found = {}
            for key, value in pairs(api) do
                if type(value) == "function" then
                    found[#found + 1] = key
                end
            end
            table.sort(found)
            local said = {}
            for key in (listed[name] or ""):gmatch "%S+" do
                said[#said + 1] = key:match "^[^@]+"
            end
            table.sort(said)
            assert.same(found, said, name)
        end
        local at_once = child.answer [[
            require "moonlap.uv"
            local names = {}
            for name in pairs(package.loaded) do
                names[name] = true
            end
            answer(names)
        ]]
        for _, name in ipairs(modules()) do
            assert.is_true(listed[name] ~= nil or at_once["moonlap.uv." .. name],
                name .. " is not in functions.lua")
        end
    end)

    it("need no other one than those they ask for", function()
        for _, name in ipairs(modules()) do
            local said = child.answer(ALONE:format(name, child.read(FOLDER .. name .. ".lua")))
            assert.is_nil(said.error)
            assert.same({}, said.missing, name)
        end
    end)
end))

describe("moonlap.uv, of which nothing was used yet,", support.with_uv(function()
    it("has loaded little", function()
        assert.same({ before = {}, after = { "timer" } }, child.answer [[
            local function loaded(of)
                local names = {}
                for _, name in ipairs(of) do
                    if package.loaded["moonlap.uv." .. name] then
                        names[#names + 1] = name
                    end
                end
                return names
            end
            local uv = require "moonlap.uv"
            local some = { "turn", "timer", "stream", "tcp", "fs_file", "process" }
            local before = loaded(some)
            uv.new_timer()
            answer { before = before, after = loaded(some) }
        ]])
    end)

    it("lists everything all the same", function()
        local said = child.answer [[
            local uv = require "moonlap.uv"
            local functions, tables = 0, {}
            for name, value in pairs(uv) do
                if type(value) == "function" then
                    functions = functions + 1
                else
                    tables[#tables + 1] = name
                end
            end
            table.sort(tables)
            answer { functions = functions, tables = tables }
        ]]
        assert.is_true(said.functions > 214)
        assert.same({ "constants", "errno" }, said.tables)
    end)

    it("works through functions that were taken before, and puts the real ones in place", function()
        assert.same({ early = "table", same = true, changed = true, error = "user.lua:5:" ..
            " bad argument #1 to 'early' (string expected, got no value)" }, child.answer [[
            local uv = require "moonlap.uv"
            local early = uv.fs_stat
            local kind = type(early("."))
            local changed, again = early ~= uv.fs_stat, uv.fs_stat
            local _, err = pcall(function() early() end)
            early(".")
            answer { early = kind, same = again == uv.fs_stat, changed = changed, error = err }
        ]])
    end)

    it("leaves alone what the program put in place of a function", function()
        assert.same({ "mine", "nil", "table" }, child.answer [[
            local uv = require "moonlap.uv"
            local before = uv.fs_stat
            uv.fs_stat = function(path) return path and before(path) and "mine" end
            uv.fs_open = nil
            answer { uv.fs_stat ".", type(uv.fs_open), type(uv.fs_lstat ".") }
        ]])
    end)

    it("needs its files only at first", function()
        local root = assert(io.popen "pwd -P"):read "*l"
        assert.same({ "table", "library" }, child.with_folder(function(folder)
            os.execute(("ln -s '%s/lua' '%s/library'"):format(root, folder))
            child.write(folder .. "/user.lua", [[
                package.path = "./library/?.lua"
                local uv = require "moonlap.uv"
                uv.chdir "/"
                package.path = ""
                local kind = type(uv.fs_stat ".")
                local _, err = pcall(uv.fs_stat, {})
                uv.fs_unlink(assert(arg[1]) .. "/library")
                local source = debug.getinfo(uv.fs_lstat, "S").source
                uv.run()
                print(kind, source:match "^@%./(%w+)/moonlap/uv/")
            ]])
            local done = child.start(folder, { args = { "user.lua", folder },
                env = { MOONLAP_UVSHIM = root .. "/bin/libmoonlap_uvshim.so" } })
            assert(done.status == 0, done.stderr)
            return { done.stdout:match "^(%S+)\t(%S+)\n$" }
        end))
    end)

    it("keeps the collector as it was", function()
        assert.same({ true, false }, child.answer [[
            local uv = require "moonlap.uv"
            uv.fs_stat "."
            local before = collectgarbage "isrunning"
            collectgarbage "stop"
            uv.new_timer()
            answer { before, collectgarbage "isrunning" }
        ]])
    end)

    -- busted does so behind each file: what is loaded late would belong to nobody.
    it("belong to their copy of the library, whatever is taken out of package.loaded", function()
        local got = child.answer [[
            local uv = require "moonlap.uv"
            local function forget()
                for name in pairs(package.loaded) do
                    if name:match "^moonlap" then package.loaded[name] = nil end
                end
            end
            local seen = {}
            uv.fs_stat("/", function(_, stat) seen[#seen + 1] = stat.type end)
            forget()
            uv.getaddrinfo("127.0.0.1", nil, { numerichost = true }, function(_, list)
                seen[#seen + 1] = list[1].addr
            end)
            local is_hidden = package.loaded["moonlap.uv.req"] == nil
            uv.run()
            local other = require "moonlap.uv" -- a second copy, and a loop of its own
            other.random(4, nil, function(_, bytes) seen[#seen + 1] = #bytes end)
            uv.random(5, nil, function(_, bytes) seen[#seen + 1] = #bytes end)
            local timer = uv.new_timer()
            timer:start(0, 0, function() seen[#seen + 1] = "timer" timer:close() end)
            other.run()
            seen[#seen + 1] = "then"
            uv.run()
            table.sort(seen, function(a, b) return tostring(a) < tostring(b) end)
            answer { seen = seen, is_hidden = is_hidden, are_two = other ~= uv }
        ]]
        assert.same({ "127.0.0.1", 4, 5, "directory", "then", "timer" }, got.seen)
        assert.is_true(got.is_hidden)
        assert.is_true(got.are_two)
    end)

    -- There LuaJIT's compiler cannot be switched off, which most modules want for some function.
    it("loads in a finalizer, too", function()
        assert.same({ kinds = "number table string boolean", ran = true }, child.answer [[
            local uv = require "moonlap.uv"
            local kinds = {}
            do
                local proxy = newproxy(true)
                getmetatable(proxy).__gc = function()
                    for _, value in ipairs {
                        uv.hrtime(), uv.fs_stat ".", uv.os_gethostname(),
                        uv.new_udp():is_closing(),
                    } do
                        kinds[#kinds + 1] = type(value)
                    end
                end
            end
            collectgarbage()
            local timer, ran = uv.new_timer(), false
            timer:start(0, 0, function() ran = true end)
            uv.walk(function(handle)
                if handle ~= timer then handle:close() end
            end)
            uv.run()
            answer { kinds = table.concat(kinds, " "), ran = ran }
        ]])
    end)

    it("loads again what has failed", function()
        assert.same({ failed = false, again = true }, child.answer [[
            local uv = require "moonlap.uv"
            local upvaluejoin = debug.upvaluejoin
            debug.upvaluejoin = function() error "not now" end
            local failed = pcall(uv.fs_stat, ".")
            debug.upvaluejoin = upvaluejoin
            answer { failed = failed, again = (pcall(uv.fs_stat, ".")) }
        ]])
    end)
end))
