-- Finds calls in loops of built-in functions that this VM does not compile.
local MEANS = {
    stitched = "is not compiled by this VM: the trace ends at the call, and another begins "
        .. "behind it",
    aborted = "is not compiled by this VM, which gives up the loop: call it outside",
}

return {visit = {Call = function(file, call)
    local name = file.loops > 0 and file:name(call[1])
    name = name and name:gsub("^@ffi%.", "ffi.")
    local means = name and MEANS[file:compiled(name)]
    if means then
        file:report(call, name .. " " .. means)
    end
end}}
