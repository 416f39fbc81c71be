-- Output handler of busted for script/test: what busted prints to a plain terminal, and a line
-- "pass|fail|skip <tab> name" a test, appended to the file that MOONLAP_TALLY names.
-- (busted 2.1's own TAP output stops with an error of its own at a spec that does not parse.)

return function(options)
    local busted = require "busted"
    local handler = require "busted.outputHandlers.plainTerminal"(options)

    local function append(file, result, tests)
        for _, test in ipairs(tests) do
            local line = "busted: " .. test.name
            if test.message and (result == "skip" or test.name == "") then
                line = line .. ": " .. tostring(test.message)
            end
            file:write(result, "\t", (line:gsub("%s+", " ")), "\n")
        end
    end

    busted.subscribe({ "suite", "end" }, function()
        local file = assert(io.open(os.getenv("MOONLAP_TALLY"), "a"))
        append(file, "pass", handler.successes)
        append(file, "fail", handler.failures)
        append(file, "fail", handler.errors)
        append(file, "skip", handler.pendings)
        file:close()
        return nil, true
    end)

    return handler
end
