-- Moonlap's Lua is LuaJIT's, and may run inside nginx.
std = "luajit+ngx_lua"
max_line_length = 100
exclude_files = { ".*/**", "bin/**", "**/testdata/**" }

files["spec"] = { std = "+busted" }
