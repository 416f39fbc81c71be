local Shape = {}
Shape.__index = Shape
function Shape.new(k) return setmetatable({ k = k }, Shape) end
function Shape.area() return 0 end
function Shape:scaled(f)
  return self:area() * f
end
local Circle = setmetatable({}, { __index = Shape })
Circle.__index = Circle
function Circle.new(r)
  local c = Shape.new("c")
  c.r = r
  return setmetatable(c, Circle)
end
function Circle:area()
  return self.r * self.r * 3.14159
end
local Box = setmetatable({}, { __index = Shape })
Box.__index = Box
function Box.new(w, h)
  local b = Shape.new("b")
  b.w, b.h = w, h
  return setmetatable(b, Box)
end
function Box:area()
  local w, h = self.w, self.h
  return w * h
end
local shapes = {}
for i = 1, 20 do
  shapes[i] = i % 2 == 0 and Circle.new(i) or Box.new(i, i + 1)
end
local function work(n)
  local x = 0
  for i = 1, n do
    local s = shapes[i % 20 + 1]
    x = x + s:scaled(0.5)
    if s.k == "c" then
      x = x - 1
    end
    x = x % 1000
  end
  return x
end
return work
