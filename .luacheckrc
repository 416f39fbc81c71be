-- Moonlap's Lua is LuaJIT's, and may run inside nginx.
std = "luajit+ngx_lua"
max_line_length = 100
exclude_files = { ".*/**", "bin/**", "**/testdata/**", "lua/moonlap/lint/luacheck/**" }

files["spec"] = { std = "+busted" }

-- The library loads under plain LuaJIT. These modules alone know that there is an nginx.
files["lua/moonlap"] = { std = "luajit" }
for _, module in ipairs { "barrier", "process", "threads", "vm" } do
    files["lua/moonlap/bench/" .. module .. ".lua"] = { std = "luajit+ngx_lua" }
end

-- `moonlap run` gives scripts an `ngx` that prints to stdout: it may change the one there is.
for _, path in ipairs { "lua/moonlap/run.lua", "lua/moonlap/run" } do
    files[path] = { std = "luajit+ngx_lua", globals = { "ngx" } }
end

-- What the rules of lint are about, some of it on purpose.
files["rules/*/bad.lua"] = { ignore = { "111", "113" } }
