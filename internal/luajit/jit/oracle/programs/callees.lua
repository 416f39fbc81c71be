local add = function(a, b)
  return a / b + 1
end
local sub = function(a, b)
  local c = a - b
  return c * 0.5
end
local handlers = { add, sub, add }
local function apply(f, ...)
  return f(...)
end
local function tail(f, a, b)
  if a > 100 then
    a = a / 50
  end
  return f(a, b)
end
local function work(n)
  local x = 1
  for i = 1, n do
    x = handlers[i % 3 + 1](x, 2)
    x = apply(add, x, 3)
    x = tail(handlers[1], x, 4)
    local _, y = pcall(sub, x, 5)
    x = y + 1
    x = select(2, x, add(x, 6)) + select('#', x, 1)
    x = tonumber(x) + math.abs(sub(x, 1))
  end
  return x
end
return work
