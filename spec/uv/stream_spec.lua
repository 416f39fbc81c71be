local support = require "spec.support.uv"

describe("A stream of moonlap.uv with much to read", support.with_uv(function(uv)
    -- Two connected pipes; b's end is full of numbers of eight digits. Returns how many bytes.
    local function full_pair()
        local a, b = support.pair(uv)
        local pieces, written = {}, 0
        for i = 1, 2 ^ 17 do
            pieces[i] = ("%08d"):format(i)
        end
        local text = table.concat(pieces)
        while true do
            local n = a:try_write(text:sub(written + 1))
            if not n then
                break
            end
            written = written + n
        end
        assert.is_true(written > 65536)
        return a, b, text:sub(1, written)
    end

    after_each(function()
        support.close_all(uv)
    end)

    it("has read it all after one turn, as with libuv", function()
        local _, b, text = full_pair()
        local chunks, checks = {}, 0
        local check = uv.new_check()
        check:start(function()
            checks = checks + 1
        end)
        b:read_start(function(err, chunk)
            assert(not err, err)
            assert.equal(0, checks)
            assert.is_true(#chunk <= 65536)
            chunks[#chunks + 1] = chunk
        end)
        uv.run "nowait"
        assert.equal(1, checks)
        assert.is_true(#chunks > 1)
        assert.is_true(table.concat(chunks) == text)
    end)

    it("stops in the midst of it, and goes on without a gap", function()
        local a, b, text = full_pair()
        local chunks, ended = {}, false
        local function stop_and_note(err, chunk)
            assert(not err, err)
            ended = chunk == nil
            chunks[#chunks + 1] = chunk
            b:read_stop()
        end
        a:close()
        for n = 1, 100 do
            b:read_start(stop_and_note)
            for _ = 1, 3 do
                uv.run "nowait"
            end
            if ended then
                break
            end
            assert.equal(n, #chunks) -- one in three turns, whatever is left
        end
        assert.is_true(ended)
        assert.is_true(table.concat(chunks) == text)
    end)

    it("is closed in the midst of it, and hears no more", function()
        local _, b = full_pair()
        local calls, closed = 0, false
        b:read_start(function()
            calls = calls + 1
            b:close(function()
                closed = true
            end)
        end)
        uv.run()
        assert.equal(1, calls)
        assert.is_true(closed)
    end)

    it("goes on after an error in its callback", function()
        local _, b, text = full_pair()
        local chunks, errors = {}, 0
        uv.set_error_handler(function(message)
            errors = errors + 1
            assert(message:find "thrown", message)
        end)
        b:read_start(function(_, chunk)
            chunks[#chunks + 1] = chunk
            error "thrown"
        end)
        uv.run "nowait"
        uv.set_error_handler(nil)
        assert.equal(#chunks, errors)
        assert.is_true(table.concat(chunks) == text)
    end)

    it("reads beside others that have much, and loses nothing", function()
        local readers = {}
        for i = 1, 12 do
            local a, b, text = full_pair()
            local reader = { text = text, chunks = {} }
            readers[i] = reader
            a:shutdown()
            b:read_start(function(err, chunk)
                assert(not err, err)
                if chunk then
                    table.insert(reader.chunks, chunk)
                else
                    reader.ended = true
                    a:close()
                    b:close()
                end
            end)
        end
        uv.run()
        for _, reader in ipairs(readers) do
            assert.is_true(reader.ended)
            assert.is_true(table.concat(reader.chunks) == reader.text)
        end
    end)
end))

describe("A write of moonlap.uv without a request", support.with_uv(function(uv)
    local function refused(stream, data)
        local written, _, name = stream:try_write(data or "x")
        assert.is_nil(written)
        return name
    end

    after_each(function()
        support.close_all(uv)
    end)

    it("takes what the kernel takes", function()
        local a, _, fd = support.pair(uv)
        assert.equal(3, a:try_write "abc")
        assert.equal(3, a:try_write { "d", "ef" })
        assert.equal(0, a:try_write "")
        assert.equal("abcdef", uv.fs_read(fd, 10, -1))
    end)

    it("does not overtake those that wait", function()
        local a, _, fd = support.pair(uv)
        local block, first = ("x"):rep(65536), 0
        repeat
            local written = a:try_write(block)
            first = first + (written or 0)
        until not written
        a:write "queued"
        local left = first
        while left > 0 do
            left = left - #assert(uv.fs_read(fd, left, -1))
        end
        assert.equal("EAGAIN", refused(a))
        uv.run "nowait"
        assert.equal(1, a:try_write "!")
        assert.equal("queued!", uv.fs_read(fd, 10, -1))
    end)

    it("is refused with libuv's reasons", function()
        local tcp = uv.new_tcp()
        assert.equal("EBADF", refused(tcp))
        local server = uv.new_tcp()
        server:bind("127.0.0.1", 0)
        server:listen(1, function() end)
        tcp:connect("127.0.0.1", server:getsockname().port, function() end)
        assert.equal("EAGAIN", refused(tcp))
        local a = support.pair(uv)
        a:shutdown()
        assert.equal("EPIPE", refused(a)) -- and no SIGPIPE
    end)

    it("ends the writing side at once where nothing waits to be written", function()
        local a, b = support.pair(uv)
        local order = {}
        a:write("last", function(err) order[#order + 1] = err or "written" end)
        local req = assert(a:shutdown(function(err) order[#order + 1] = err or "shut" end))
        assert.equal("shutdown", (req:get_type()))
        assert.same({}, order)
        assert.is_false(a:is_writable())
        assert.is_true(a:is_readable())
        assert.equal("ENOTCONN", select(3, a:shutdown()))
        assert.equal("EPIPE", select(3, a:try_write "more"))
        local got = {}
        b:read_start(function(_, data)
            got[#got + 1] = data or "end"
            if not data then
                b:write "answer"
                b:close()
            end
        end)
        a:read_start(function(_, data)
            order[#order + 1] = data or "end"
            if not data then a:close() end
        end)
        uv.run()
        assert.same({ "last", "end" }, got)
        assert.same({ "written", "shut", "answer", "end" }, order)
    end)
end))
