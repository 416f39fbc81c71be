--- The words that luv takes and gives for numbers: `"inet"`, `"stream"`, `"sigterm"`, `"tcp"`.
-- @module moonlap.uv.words
local ffi = require "ffi"
local check = require "moonlap.uv.check"
local numbers = require("moonlap.uv.constants").api.constants

local _M = {}

ffi.cdef [[
void *getprotobyname(const char *name);
void *getprotobynumber(int proto);
]]
local protoent_ptr = ffi.typeof "struct { char *p_name; char **p_aliases; int p_proto; } *"

-- Numbers with two names are called by the first.
local ALIAS = { SIGIOT = true, SIGPOLL = true }


-- The two maps of the constants that begin with `prefix`: numbers by lower-case word, and back.
local function words(prefix, word_prefix)
    local number_of, word_of = {}, {}
    for name, number in pairs(numbers) do
        if name:sub(1, #prefix) == prefix then
            local word = word_prefix .. name:sub(#prefix + 1):lower()
            number_of[word] = number
            if not ALIAS[name] then
                word_of[number] = word
            end
        end
    end
    return number_of, word_of
end


--- Address families: number by word (`"inet"`), word by number.
_M.family_number, _M.family_word = words("AF_", "")

--- Socket types: number by word (`"stream"`), word by number.
_M.socktype_number, _M.socktype_word = words("SOCK_", "")

--- Signals: number by word (`"sigterm"`), word by number.
_M.signal_number, _M.signal_word = words("SIG", "sig")


-- Protocols that are known also where the system has no list of them, as on a minimal Debian (the
-- numbers are IANA's).
local protocols = { ip = 0, icmp = 1, tcp = 6, udp = 17, ["ipv6-icmp"] = 58 }
local protocol_words = {}
for word, number in pairs(protocols) do
    protocol_words[number] = word
end

-- Answers are kept: each question makes the system read its list anew, a file.
local asked_words, asked_numbers = {}, {}

local function ask_number(word)
    local entry = ffi.cast(protoent_ptr, ffi.C.getprotobyname(word))
    return entry ~= nil and entry.p_proto or protocols[word]
end

local function ask_word(number)
    local entry = ffi.cast(protoent_ptr, ffi.C.getprotobynumber(number))
    return entry ~= nil and ffi.string(entry.p_name) or protocol_words[number]
end

--- The number of an IP protocol, as the system's list of protocols has it.
-- @tparam string word such as `"tcp"`
-- @treturn number|nil nil when there is none such
function _M.protocol_number(word)
    if not asked_numbers[word] then
        asked_numbers[word] = ask_number(word)
    end
    return asked_numbers[word]
end


--- The word for an IP protocol, as the system's list of protocols has it.
-- @tparam number number
-- @treturn string|nil nil when there is none such
function _M.protocol_word(number)
    if not asked_words[number] then
        asked_words[number] = ask_word(number)
    end
    return asked_words[number]
end


--- A signal as luv takes it: a number or a word; SIGTERM when it is neither.
-- @tparam number position
-- @param ... all arguments
-- @treturn number
function _M.signal(position, ...)
    local value = (select(position, ...))
    if type(value) == "string" then
        return tonumber(value) or _M.signal_number[value]
            or check.argument_error(position, "Invalid Signal name")
    end
    return type(value) == "number" and value or numbers.SIGTERM
end


return _M
