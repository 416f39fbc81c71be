-- Lua called from C, through an FFI callback: what made a port of node.js 300 times slower,
-- until every callback was fired from Lua. Here libc's bsearch, in an array of one, calls a
-- comparison once, against the same comparison called from Lua; each a hundred times, for one
-- call from Lua takes too little to be measured. The key changes with every call, or the JIT
-- would compare once and keep the answer.
local moonlap = require "moonlap"
local ffi = require "ffi"

ffi.cdef [[
void *bsearch(const void *key, const void *base, size_t nmemb, size_t size,
    int (*compare)(const int *, const int *));
]]

local key, base = ffi.new("int[1]", 42), ffi.new("int[1]", 42)

local function compare(a, b)
    return a[0] - b[0]
end

moonlap.bench {
    name = "100 lua calls",
    setup = function()
        return {sum = 0}
    end,
    run = function(state)
        for i = 1, 100 do
            key[0] = i
            state.sum = state.sum + compare(key, base)
        end
    end,
}

moonlap.bench {
    name = "100 ffi callbacks",
    setup = function()
        local state = {sum = 0}
        state.callback = ffi.cast("int (*)(const int *, const int *)", function(a, b)
            local order = compare(a, b)
            state.sum = state.sum + order
            return order
        end)
        return state
    end,
    run = function(state)
        for i = 1, 100 do
            key[0] = i
            ffi.C.bsearch(key, base, 1, 4, state.callback)
        end
    end,
    teardown = function(state)
        state.callback:free()
    end,
}
