local function sieve(max)
  local flags, count = {}, 0
  for i = 2, max do
    flags[i] = true
  end
  for i = 2, max do
    if flags[i] then
      count = count + 1
      for j = i * i, max, i do
        flags[j] = false
      end
    end
  end
  return count
end
local function work(n)
  local x = 0
  for _ = 1, n / 250 do
    x = x + sieve(2000)
  end
  return x
end
return work
