--- Values as a string, for another Lua state: nil, booleans, numbers, strings, and the userdata
-- that mean something there.
--
-- A module whose userdata may go to other states adds itself to `kinds` under its letter:
--
--     message.kinds.A = { to = …, from = …, hold = … }
--
-- `to(userdata)` returns a number or nil when it is not of that kind; `from(number)` makes the
-- userdata in the other state. `hold(number)` is for what C counts: the message keeps each of them,
-- and C lets go of them when it drops the message, read or not. What is more than a number has
-- `text(userdata)`, which returns a string, and its `from` gets that.
-- @module moonlap.uv.message

local ffi = require "ffi"
local barrier = require "moonlap.uv.barrier"
local loading = require "moonlap.uv.loading"

local _M = {}

local type, select = type, select
local concat = table.concat

local NUMBER = 8 -- bytes
local number_box = ffi.new "double[1]"
local char_ptr = ffi.typeof "const char *"

-- Filled by the modules of MODULES when they are loaded.
local kinds = {}

--- The kinds of userdata, by letter.
_M.kinds = kinds

local MODULES = {
    A = "async", L = "fs_dir", S = "semaphore", T = "thread",
}

local function packed(number)
    number_box[0] = number
    return (ffi.string(number_box, NUMBER))
end

-- The letter and the number of a userdata.
local function identify(value)
    for letter, kind in pairs(kinds) do
        local number = kind.to(value)
        if number then
            return letter, number
        end
    end
end

-- Each takes the value and the list of numbers that are held.
local encoders = {
    ["nil"] = function()
        return "n"
    end,
    boolean = function(value)
        return value and "t" or "f"
    end,
    number = function(value)
        return "d" .. packed(value)
    end,
    string = function(value)
        return "s" .. packed(#value) .. value
    end,
    userdata = function(value, held)
        local letter, number = identify(value)
        local hold, text_of = kinds[letter].hold, kinds[letter].text
        if text_of then
            local text = text_of(value)
            return "v" .. letter .. packed(#text) .. text
        elseif hold then
            hold(number)
            held[#held + 1] = packed(number)
        end
        return "u" .. letter .. packed(number)
    end,
}

local function can_go(value)
    local kind = type(value)
    return encoders[kind] and (kind ~= "userdata" or identify(value))
end

local function encode(ours, ...)
    local n = select("#", ...)
    for i = 1, n do
        local value = select(i, ...)
        if not can_go(value) then
            return nil, ("Error: thread arg not support type '%s' at %d"):format(type(value),
                i - ours), i - 1
        end
    end
    local pieces, held = {}, {}
    for i = 1, n do
        local value = select(i, ...)
        pieces[i] = encoders[type(value)](value, held)
    end
    return packed(#held) .. concat(held) .. concat(pieces)
end

local function number_at(text, position)
    ffi.copy(number_box, ffi.cast(char_ptr, text) + position - 1, NUMBER)
    return number_box[0]
end

local function kind_of(letter)
    if not kinds[letter] then
        loading.module(MODULES[letter])
    end
    return kinds[letter]
end

local function decode(text)
    local values, n = {}, 0
    local position = 1 + NUMBER * (1 + number_at(text, 1))
    while position <= #text do
        local tag = text:sub(position, position)
        position = position + 1
        n = n + 1
        if tag == "t" or tag == "f" then
            values[n] = tag == "t"
        elseif tag == "d" then
            values[n] = number_at(text, position)
            position = position + NUMBER
        elseif tag == "s" then
            local size = number_at(text, position)
            values[n] = text:sub(position + NUMBER, position + NUMBER - 1 + size)
            position = position + NUMBER + size
        elseif tag == "u" then
            local kind = kind_of(text:sub(position, position))
            values[n] = kind.from(number_at(text, position + 1))
            position = position + 1 + NUMBER
        elseif tag == "v" then
            local kind, size = kind_of(text:sub(position, position)), number_at(text, position + 1)
            position = position + 1 + NUMBER
            values[n] = kind.from(text:sub(position, position + size - 1))
            position = position + size
        end
    end
    return unpack(values, 1, n)
end

-- What has userdata is left to these two.
for _, fn in ipairs { identify, can_go, encode, number_at, kind_of, decode } do
    jit.off(fn)
end

local make_encoder, make_decoder = barrier.maker "uvshim_encoder", barrier.maker "uvshim_decoder"

--- Values as a string.
-- @function encode
-- @tparam number ours how many of the values are not the user's, whose positions errors count
-- @param ... values
-- @treturn string|nil nil when one of them cannot go to another state
-- @treturn string then luv's error message
-- @treturn number and how many are before it
_M.encode = make_encoder and make_encoder(encode) or encode

--- The values of a string.
-- @function decode
-- @tparam string text as `encode` made it
-- @return the values
_M.decode = make_decoder and make_decoder(decode) or decode

return _M
