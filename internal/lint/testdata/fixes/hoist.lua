-- What is made once, above, and what stays where it is. It prints the same before and behind.
local ffi = require "ffi"
local _M = {}
local other
other = {}

-- Sorts each list.
-- The comment belongs to the function.
function _M.sorted(lists, descending)
    for _, list in ipairs(lists) do
        table.sort(list, function(a, b) return a < b end)
        if descending then
            table.sort(list, function(a, b)
                return a > b
            end)
        end
        table.sort(list, function(a, b) return #lists > 0 and a < b end)
        table.sort(list, function(a, b) return a < b and list ~= nil end)
    end
    return lists
end

function _M.replaced(texts)
    local n = 0
    for i, text in ipairs(texts) do
        texts[i] = string.gsub(text, "%d", function(digit)
            n = n + 1
            return "<" .. digit .. ">"
        end)
        texts[i] = _M.each(text, function(x) return x end)
    end
    return n
end

function _M.each(x, f)
    return f(x)
end

function _M.called(list, n)
    for i, v in ipairs(list) do
        local add = function(a)
            return a + n
        end -- what is left stays
        if v > 1 then
            local function down(a) return a == 0 and 1 or down(a - 1) end

            list[i] = add(v) + down(v)
        end
        -- It belongs to what follows.
        local function commented(a) return a end
        local handed = function(a) return a end
        local function twice(a) return a end
        list[i] = commented(list[i]) + _M.each(1, handed) + twice(1)
    end
    local function twice() return n end
    return twice()
end

function _M.new(x)
    return setmetatable({x = x}, {__index = _M})
end

function _M.another(x)
    local mt = {}
    return setmetatable({x = x, mt = mt}, {__index = _M, __call = _M.each})
end

function _M.unsure(x)
    return setmetatable({x = x}, {__index = other})
end

function _M.bytes(n)
    return ffi.sizeof(ffi.typeof("unsigned char[?]"), n), ffi.typeof("struct later *")
end

ffi.cdef "struct later { int x; };"
local one = 1 function _M.late() return ffi.typeof("int"), one end
for _, list in ipairs(_M.sorted({{2, 1, 3}, {5, 4}}, true)) do
    print(table.concat(list, " "))
end
print(_M.replaced {"a1", "22"}, _M.new(1).each(2, tostring), _M.another(3).new(4).x, (_M.bytes(3)))
print(_M.called({1, 2, 3}, 4))
print(_M.unsure(1).x, tostring(_M.late()))
return _M
