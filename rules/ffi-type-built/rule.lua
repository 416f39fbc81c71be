-- Finds C types whose text is made at run time.
local TAKES_TYPE = {["@ffi.new"] = true, ["@ffi.cast"] = true, ["@ffi.typeof"] = true,
    ["@ffi.sizeof"] = true, ["@ffi.istype"] = true}

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

return {visit = {Call = function(file, call)
    if TAKES_TYPE[file:name(call[1])] and call[2] and made(file, call[2]) then
        file:report(call, "a C type is parsed at each call, which is not compiled: make it once "
            .. "with ffi.typeof; a length goes into [?]")
    end
end}}
