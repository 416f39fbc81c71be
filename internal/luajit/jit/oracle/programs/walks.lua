local t, h = {}, {}
for n = 1, 20 do
  t[n] = n / 2
  h["k" .. n] = n
end
local function each(f)
  for i = 1, #t do
    f(i, t[i])
  end
end
local function work(n)
  local x = 0
  for _ = 1, n / 20 do
    for i, v in ipairs(t) do
      x = x + v
      t[i] = v * 0.5 + 1
    end
    for k, v in pairs(h) do
      x = x + v
      h[k] = v
    end
    each(function(_, v)
      x = x * 0.5 + v
    end)
    local i = 20
    while i > 0 do
      x = x - t[i]
      i = i - 1
    end
    repeat
      x = x / 2
      i = i + 1
    until i > 12 or x > 1e6
    for j = 20, 1, -2 do
      x = x + t[j]
    end
  end
  return x
end
return work
