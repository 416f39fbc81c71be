local pcall, xpcall = pcall, xpcall
local function risky(a, b)
  local c = a / b
  return c + 1
end
local function handler(e)
  return e
end
local function safe(a)
  local ok, v = pcall(risky, a, 3)
  if ok then
    return v
  end
  return 0
end
local function work(n)
  local x = 1
  for i = 1, n do
    local ok, v = pcall(risky, x, 2)
    x = ok and v or 0
    x = x + safe(i)
    local ok2, w = xpcall(risky, handler, x, 7)
    if ok2 then
      x = w / 1.5
    end
    x = x % 1000
  end
  return x
end
return work
