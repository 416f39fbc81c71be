--- Prints values, one blank between, for programs whose output is compared.
return function(...)
    local words = { ... }
    for i = 1, select("#", ...) do
        words[i] = tostring(words[i])
    end
    print(table.concat(words, " "))
end
