local Queue = {}
Queue.__index = Queue
function Queue.new()
  return setmetatable({ first = 1, last = 0, items = {} }, Queue)
end
function Queue:push(v)
  local last = self.last + 1
  self.last = last
  self.items[last] = v
end
function Queue:pop()
  local first = self.first
  if first > self.last then
    return nil, "empty"
  end
  local v = self.items[first]
  self.items[first] = nil
  self.first = first + 1
  return v
end
function Queue:each(f)
  for i = self.first, self.last do
    f(self.items[i])
  end
end
local q = Queue.new()
local function work(n)
  local x = 0
  local function add(v) x = x + v end
  for i = 1, n / 4 do
    q:push(i)
    q:push(i * 0.5)
    if i % 16 == 0 then
      q:each(add)
    end
    local v, err = q:pop()
    if err then
      x = x - 1
    else
      x = x + v
    end
    v = q:pop()
    x = x * 0.25 + v
  end
  return x
end
return work
