-- For hyperfine: a command that takes about a quarter of a second. Without a share it prints
-- how many turns of the spin take as long as a call.
local dir, work, share, how, turns = arg[1], arg[2], tonumber(arg[3]), arg[4], tonumber(arg[5])
local works = dofile(dir .. "/work.lua")
math.randomseed(os.time())
if not share then
    print(works.turns(work))
    return
end
local run = works.slowed(work, share, how, turns)
for _ = 1, ({ sum = 6000, words = 3500, branch = 900 })[work] do
    run()
end
