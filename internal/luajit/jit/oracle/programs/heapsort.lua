local floor = math.floor
local function sift(a, lo, hi)
  local root = lo
  while root * 2 <= hi do
    local child = root * 2
    if child < hi and a[child] < a[child + 1] then
      child = child + 1
    end
    if a[root] >= a[child] then
      return
    end
    local t = a[root]
    a[root] = a[child]
    a[child] = t
    root = child
  end
end
local function heapsort(a, n)
  for start = floor(n / 2), 1, -1 do
    sift(a, start, n)
  end
  for last = n, 2, -1 do
    a[1], a[last] = a[last], a[1]
    sift(a, 1, last - 1)
  end
end
local data, seed = {}, 42
local function work(n)
  for _ = 1, n / 200 do
    for i = 1, 300 do
      seed = (seed * 3877 + 29573) % 139968
      data[i] = seed
    end
    heapsort(data, 300)
  end
  return data[1]
end
return work
