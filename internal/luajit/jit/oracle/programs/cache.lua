local LRU = {}
LRU.__index = LRU
local function new(max)
  local head = {}
  head.prev, head.next = head, head
  return setmetatable({ map = {}, head = head, size = 0, max = max }, LRU)
end
local function unlink(node)
  node.prev.next = node.next
  node.next.prev = node.prev
end
local function push(head, node)
  node.next = head.next
  node.prev = head
  head.next.prev = node
  head.next = node
end
function LRU:get(key)
  local node = self.map[key]
  if not node then
    return nil
  end
  unlink(node)
  push(self.head, node)
  return node.value
end
function LRU:set(key, value)
  local node = self.map[key]
  if node then
    node.value = value
    unlink(node)
    push(self.head, node)
    return
  end
  if self.size >= self.max then
    node = self.head.prev
    unlink(node)
    self.map[node.key] = nil
  else
    node = {}
    self.size = self.size + 1
  end
  node.key, node.value = key, value
  self.map[key] = node
  push(self.head, node)
end
local cache = new(100)
local seed = 7
local function work(n)
  local hits = 0
  for i = 1, n do
    seed = seed * 1103 % 65537
    local key = seed % 150
    local v = cache:get(key)
    if v then
      hits = hits + v
    else
      cache:set(key, i)
    end
  end
  return hits
end
return work
