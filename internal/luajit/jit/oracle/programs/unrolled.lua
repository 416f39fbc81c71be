local t = {}
for i = 1, 64 do t[i] = i % 5 end
local function work(n)
  local x = 0
  for i = 1, n / 4 do
    for j = 1, 3 do
      x = x + t[j]
      for k = 1, 2 do
        x = x * 0.5 + t[k + j]
      end
    end
    for _ = 1, t[i % 64 + 1] do
      x = x / 1.25
    end
    for j = 4, 1, -1 do
      x = x + j
      if x > 100 then
        x = x - 100
      end
    end
  end
  return x
end
return work
