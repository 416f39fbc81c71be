-- Moonlap's Lua is LuaJIT's, and may run inside nginx.
std = "luajit+ngx_lua"
max_line_length = 100
exclude_files = { ".*/**", "bin/**", "**/testdata/**" }

files["spec"] = { std = "+busted" }

-- The library loads under plain LuaJIT. These modules alone know that there is an nginx.
files["lua/moonlap"] = { std = "luajit" }
for _, module in ipairs { "bench/barrier", "bench/process", "bench/threads", "bench/vm" } do
    files["lua/moonlap/" .. module .. ".lua"] = { std = "luajit+ngx_lua" }
end
