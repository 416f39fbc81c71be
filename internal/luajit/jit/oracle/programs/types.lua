local function size(v)
  if type(v) == "string" then
    local n = #v
    return n + 1
  elseif type(v) == "table" then
    return v.size * 2
  elseif v == nil then
    return 0
  end
  return v / 3
end
local function work(n)
  local x, t, s = 1, { size = 3 }, "abcdef"
  for _ = 1, n do
    x = x + size(s)
    if type(x) ~= "number" then
      error("never")
    end
    x = x / size(t)
    if type(t) == "table" and t.size > 2 then
      x = x * 0.7
    end
    x = x + size(x)
    t.size = 3 + (type(s) == "string" and 1 or 2)
    local missing = t.none
    x = x + size(missing)
  end
  return x
end
return work
