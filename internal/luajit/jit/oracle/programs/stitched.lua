local frexp, unpack, getenv = math.frexp, unpack, os.getenv
local function scale(v, by)
  local w = v / by
  local m = frexp(w)
  return m + 0.25
end
local function work(n)
  local x, t = 1, { 1, 2 }
  for _ = 1, n do
    x = x / 1.1 + 1
    x = frexp(x) + 0.5
    t[1] = x
    x = 1 / (x + 0.1)
    getenv("HOME")
    t[2] = x * 2
    x = scale(x, 1.5)
    t[1] = x + t[2] * 0.25
    local a, b = unpack(t)
    x = a / (b + 1)
  end
  return x
end
return work
