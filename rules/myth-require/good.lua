local moonlap = require "moonlap"

local library = require "table"

moonlap.bench("require", function()
    return library.concat ~= nil
end)
