local map = {}
for i = 1, 20 do map["key" .. i] = i end
local list = {}
for i = 1, 20 do list[i] = { id = i, w = i / 2 } end
local function iter(t, i)
  i = i + 1
  local v = t[i]
  if v then
    return i, v
  end
end
local function each(t)
  return iter, t, 0
end
local function work(n)
  local x = 0
  for _ = 1, n / 40 do
    for k, v in pairs(map) do
      x = x + v
      if k == "key7" then
        x = x - 1
      end
    end
    for i, o in ipairs(list) do
      x = x + o.w * i
      o.id = x % 10
    end
    for _, o in each(list) do
      x = x + o.id
    end
    local k, v = next(map)
    while k do
      x = x + v
      k, v = next(map, k)
    end
  end
  return x
end
return work
