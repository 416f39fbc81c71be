local moonlap = require "moonlap"

moonlap.bench("now", function()
    return ngx.now()
end)
