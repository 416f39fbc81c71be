local wrap, yield = coroutine.wrap, coroutine.yield
local function produce(n)
  local x = 1
  for i = 1, n do
    x = x / 1.1 + i
    if i % 50 == 0 then
      yield(x)
      x = x * 0.5
    end
  end
  return x
end
local function work(n)
  local sum, f = 0, wrap(produce)
  for _ = 1, n / 50 do
    sum = sum + f(n)
    for j = 1, 40 do
      sum = sum / (j + 1)
    end
  end
  return sum
end
return work
