local function counter(step)
  local count = 0
  return function()
    count = count + step
    return count
  end
end
local function map(t, f)
  local out = {}
  for i = 1, #t do
    out[i] = f(t[i])
  end
  return out
end
local function filter(t, f)
  local out = {}
  for i = 1, #t do
    if f(t[i]) then
      out[#out + 1] = t[i]
    end
  end
  return out
end
local function reduce(t, f, acc)
  for i = 1, #t do
    acc = f(acc, t[i])
  end
  return acc
end
local list = {}
for i = 1, 30 do list[i] = i end
local double = function(v) return v * 2 end
local odd = function(v) return v % 3 == 1 end
local add = function(a, b) return a + b end
local function work(n)
  local x = 0
  for i = 1, n / 30 do
    local c = counter(i)
    x = x + c() + c()
    local m = map(list, double)
    local f = filter(m, odd)
    x = x + reduce(f, add, 0)
  end
  return x
end
return work
