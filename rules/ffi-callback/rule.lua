-- Finds Lua functions that are cast to C function pointers.
local MADE_BY = {["@ffi.cast"] = true, ["@ffi.new"] = true}

return {classes = {"request", "init", "timer"}, visit = {Call = function(file, call)
    local ctype, value = call[2], call[3]
    if not (MADE_BY[file:name(call[1])] and ctype and value) then
        return
    end
    if value.tag == "Id" and value.var and value.var.sets == 0 and value.var.value then
        value = value.var.value
    end
    if value.tag == "Function" then
        file:report(call, "a Lua function becomes an FFI callback: C calls it through the "
            .. "interpreter, and no loop around that is compiled; let C return its results instead")
    end
end}}
