-- What it costs to get from C into Lua: 1000 calls each. Run through ./run, which builds calls.so.
--
-- moonlap: --runtime luajit --compare
local moonlap = require "moonlap"
local ffi = require "ffi"

ffi.cdef [[
typedef struct { uint32_t kind, id; int32_t result; uint32_t extra; void *data; } event;
void call_0(void (*)(void), int);
void call_1(void (*)(void *), void *, int);
int call_3(int (*)(void *, long, void *), void *, int);
void append(event *, void *, int);
]]

local C = ffi.load(assert(os.getenv "CALLS", "CALLS: where calls.so lies; ./run tells"))
local N = 1000
local handle = ffi.new "char[1]"

local function bench(name, setup)
    moonlap.bench {
        name = name,
        setup = setup,
        run = function(state)
            local before = state.called
            state.go()
            return state.called - before
        end,
        check = function(called)
            assert(called == N)
        end,
        teardown = function(state)
            if state.callback then
                state.callback:free()
            end
        end,
    }
end

-- The compiled loop that reads the records is what moonlap.uv does.
bench("event vector", function()
    local state, events = { called = 0 }, ffi.new("event[?]", N)
    local by_id = { function(event) state.called = state.called + event.kind end }
    function state.go()
        C.append(events, handle, N)
        for i = 0, N - 1 do
            local event = events[i]
            by_id[event.id](event)
        end
    end
    return state
end)

-- The same, with nothing to read.
bench("Lua call", function()
    local state = { called = 0 }
    local functions = { function(n) state.called = state.called + n end }
    function state.go()
        for _ = 1, N do
            functions[1](1)
        end
    end
    return state
end)

-- What calls back is never compiled: that ends a process, see panic.lua.
local function calling_back(name, kind, body, call)
    bench(name, function()
        local state = { called = 0 }
        state.callback = ffi.cast(kind, body(state))
        function state.go()
            call(state.callback)
        end
        jit.off(state.go)
        return state
    end)
end

local function count(state)
    return function() state.called = state.called + 1 end
end

calling_back("FFI callback, no argument", "void (*)(void)", count,
    function(callback) C.call_0(callback, N) end)
calling_back("FFI callback, a pointer", "void (*)(void *)", count,
    function(callback) C.call_1(callback, handle, N) end)
calling_back("FFI callback, three arguments and a result", "int (*)(void *, long, void *)",
    function(state)
        return function()
            state.called = state.called + 1
            return 1
        end
    end,
    function(callback) C.call_3(callback, handle, N) end)
