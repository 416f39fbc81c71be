-- Finds declarations that are parsed at each call.
return {visit = {Call = function(file, call)
    if file:name(call[1]) == "@ffi.cdef" then
        file:report(call, "ffi.cdef in a function parses its declarations at each call, until the "
            .. "table of C types overflows: declare where the module is loaded")
    end
end}}
