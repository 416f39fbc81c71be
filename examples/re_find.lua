-- How long does ngx.re.find take, and does caching the function in a local matter?
-- The experiment of the tutorial that this project began with.
--
-- moonlap: --runtime nginx --compare
local moonlap = require "moonlap"

local re_find = ngx.re.find
local subject, regex = "hello, world.", [[\w+\.]]

moonlap.bench {
    name = "re_find",
    run = function()
        return ngx.re.find(subject, regex, "jo")
    end,
    check = function(from)
        assert(from == 8, "found at " .. tostring(from))
    end,
}

moonlap.bench {
    name = "re_find_cached",
    run = function()
        return re_find(subject, regex, "jo")
    end,
    check = function(from)
        assert(from == 8, "found at " .. tostring(from))
    end,
}
