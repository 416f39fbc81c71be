local moonlap = require "moonlap"

moonlap.bench("require", function()
    return require("table").concat ~= nil
end)
