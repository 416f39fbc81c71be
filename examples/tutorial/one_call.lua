-- The second wrong way: one call between two readings of nginx's clock, which has steps of a
-- millisecond. Shown five times.
for _ = 1, 5 do
    ngx.update_time()
    local start = ngx.now()
    ngx.re.find("hello, world.", [[\w+\.]], "jo")
    ngx.update_time()
    ngx.say(("%.0f ms"):format((ngx.now() - start) * 1000))
end
