local unpack, select = unpack, select
local function swap(a, b, c)
  return c, b, a
end
local function collect(...)
  local t = { ... }
  t[#t + 1] = select("#", ...)
  return t
end
local function apply(f, args)
  return f(unpack(args))
end
local function max(...)
  local best = -1 / 0
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if v > best then
      best = v
    end
  end
  return best
end
local function defaults(a, b)
  b = b or 10
  a = a == nil and 5 or a
  return a + b
end
local function work(n)
  local x = 0
  for i = 1, n / 4 do
    local a, b, c = swap(i, 2, 3)
    x = x + a * b - c % 3
    local t = collect(i, x, 7)
    x = x + t[4]
    x = x + apply(defaults, t) % 100
    x = x + max(1, i % 5, 3)
    x = x + defaults(nil, i % 2 == 0 and 4 or nil)
    x = x % 100000
  end
  return x
end
return work
