-- Work for other threads: primes counted in the pool and in threads that report by an async.
local uv = require(arg[1])
local STEP = 2000
local luv = arg[1]

local function primes(from, to)
    local count = 0
    for n = math.max(from, 2), to do
        local is_prime = true
        for d = 2, math.floor(math.sqrt(n)) do
            if n % d == 0 then
                is_prime = false
                break
            end
        end
        count = count + (is_prime and 1 or 0)
    end
    return count
end
local dumped = string.dump(primes)

local in_pool, results = 0, {}
local work = uv.new_work(function(code, from, to)
    return from, loadstring(code)(from, to)
end, function(from, count)
    in_pool = in_pool + count
    results[#results + 1] = from
end)
for from = 1, 20000, STEP do
    assert(work:queue(dumped, from, from + STEP - 1))
end

local in_threads, reports = 0, 0
local async
async = uv.new_async(function(count, name, flag, nothing)
    assert(type(name) == "string" and flag == true and nothing == nil)
    in_threads = in_threads + count
    reports = reports + 1
    if reports == 1 then
        async:close()
    end
end)
local thread = uv.new_thread(function(module, report, code)
    local inner = require(module)
    inner.sleep(1)
    report:send(loadstring(code)(1, 20000), "thread", true, nil)
end, luv, async, dumped)

uv.run()
assert(thread:join())
table.sort(results)
print("pool", in_pool, #results, results[1], results[#results])
print("thread", in_threads, reports)
