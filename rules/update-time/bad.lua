local moonlap = require "moonlap"

moonlap.bench("now", function()
    ngx.update_time()
    return ngx.now()
end)
