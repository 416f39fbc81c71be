local ffi = require("ffi")
ffi.cdef("typedef struct { double x, y; } oracle_point;")
local Point
Point = ffi.metatype("oracle_point", {
  __add = function(a, b) return Point(a.x + b.x, a.y + b.y) end,
  __index = { norm = function(p) return p.x * p.x + p.y * p.y end },
})
local keep = {}
local function work(n)
  local x, p = 1, Point(1, 2)
  for i = 1, n do
    local t = { i, x }
    keep[i % 8 + 1] = t
    local s = "k" .. i % 16
    keep[s] = #s
    p = p + Point(0.5, x)
    x = p:norm() / 1e9 + #keep % 2
    keep[9] = { name = s, at = x }
    t[#t + 1] = x
    p.x = x
  end
  return x
end
return work
