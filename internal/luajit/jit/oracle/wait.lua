-- Run the program of the first argument for the seconds of CPU time of the second.
-- Then wait, so that it can be read.
local run = dofile(arg[1])
local stop = os.clock() + tonumber(arg[2])
repeat run(1000) until os.clock() > stop
io.write("ready\n")
io.flush()
io.read()
