-- For hyperfine: a command that takes about a quarter of a second.
local dir, work, slower = arg[1], arg[2], tonumber(arg[3])
local works = dofile(dir .. "/work.lua")
local run = works[work]
math.randomseed(os.time())
local n = math.floor(works.base[work] * slower + 0.5)
for _ = 1, ({ sum = 6000, words = 3500, branch = 900 })[work] do
    run(n)
end
