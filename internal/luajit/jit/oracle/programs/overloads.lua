local store = { a = 1, b = 2, c = 3 }
local reads = 0
local proxy = setmetatable({}, {
  __index = function(_, k)
    reads = reads + 1
    return store[k]
  end,
  __newindex = function(_, k, v)
    store[k] = v % 1000
  end,
})
local V = {}
V.__index = V
local function vec(x, y)
  return setmetatable({ x = x, y = y }, V)
end
V.__add = function(a, b)
  return vec(a.x + b.x, a.y + b.y)
end
V.__mul = function(a, s)
  return vec(a.x * s, a.y * s)
end
V.__eq = function(a, b)
  return a.x == b.x and a.y == b.y
end
V.__lt = function(a, b)
  return a.x < b.x
end
V.__len = function() return 2 end
V.__call = function(self, d)
  return self.x / d
end
local Base = {}
Base.__index = Base
function Base.name() return 3 end
local Derived = setmetatable({}, Base)
Derived.__index = Derived
local object = setmetatable({}, Derived)
local function work(n)
  local x = 0
  local p, q = vec(1, 2), vec(0.5, 0.25)
  for i = 1, n do
    x = x + proxy.a
    proxy.b = i
    p = p + q
    p = p * 0.5
    if p < q then
      x = x + 1
    end
    x = x + p(3)
    x = x + object.name()
  end
  return x
end
return work
