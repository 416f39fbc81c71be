local t = {}
for i = 1, 100 do t[i] = i * 7 % 13 end
local function work(n)
  local x = 0
  for _ = 1, n / 100 do
    for i = 1, 100 do
      local v = t[i]
      if v == 3 then
        goto continue
      end
      if v > 9 then
        x = x - v
        goto continue
      end
      x = x + v * 0.5
      if v == 5 then
        x = x / 1.01
      end
      ::continue::
    end
    do
      local i = 1
      ::top::
      x = x + t[i]
      i = i + 3
      if i < 90 then
        goto top
      end
    end
  end
  return x
end
return work
