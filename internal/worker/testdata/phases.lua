-- What phase_test.go has a worker do: code of a …_by_lua_file that computes, in most phases after it has waited.
local function spin()
    local x = 7
    for i = 1, 3e6 do x = (x * 31 + i) % 1000003 end
    return x
end

local function late()
    ngx.sleep(0.001)
    return spin()
end

local phase = ngx.get_phase()
if ngx.var.uri == "/timer" then
    ngx.timer.at(0, late)
elseif ngx.var.uri == "/thread" then
    local thread = ngx.thread.spawn(late)
    ngx.thread.wait(thread)
elseif phase == "set" or phase == "log" or phase:find("filter") then -- where Lua may not wait
    ngx.ctx.result = spin()
else
    ngx.ctx.result = late()
end
