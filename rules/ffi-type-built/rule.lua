-- Finds C types whose text is made at run time.
local TAKES_TYPE = {["@ffi.new"] = true, ["@ffi.cast"] = true, ["@ffi.typeof"] = true,
    ["@ffi.sizeof"] = true, ["@ffi.istype"] = true}

local hoist = require "moonlap.lint.hoist"

local function constant(node)
    return node.tag == "String" or node.tag == "Number"
        or node.tag == "Op" and node[1] == "concat" and constant(node[2]) and constant(node[3])
end

-- Tells whether an expression makes a string out of others, one of which is not constant.
local function made(file, node)
    if node.tag == "Paren" then
        return made(file, node[1])
    elseif node.tag == "Op" and node[1] == "concat" then
        return not constant(node)
    end
    return node.tag == "Call" and file:name(node[1]) == "string.format"
end

-- Words of types that every VM knows: others may be declared behind the place above.
local BASIC = {}
for word in ("void char short int long float double bool signed unsigned const size_t ssize_t "
    .. "ptrdiff_t intptr_t uintptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t "
    .. "uint64_t"):gmatch "%S+" do
    BASIC[word] = true
end

local function basic(text)
    for word in text:gmatch "[%a_][%w_]*" do
        if not BASIC[word] then
            return false
        end
    end
    return text:find "%a" ~= nil
end

local function fix(file, call)
    return #call == 2 and basic(call[2][1]) and hoist.edits(file, call, "ctype", {fixed = true})
end

return {visit = {Call = function(file, call)
    if file:name(call[1]) == "@ffi.typeof" and call[2] and call[2].tag == "String"
        and not file.func.node.chunk then
        return file:report(call, "ffi.typeof parses its type at each call, which is not compiled: "
            .. "make it once, where the module is loaded", {fix = fix(file, call) or nil})
    end
    if TAKES_TYPE[file:name(call[1])] and call[2] and made(file, call[2]) then
        file:report(call, "a C type is parsed at each call, which is not compiled: make it once "
            .. "with ffi.typeof; a length goes into [?]")
    end
end}}
