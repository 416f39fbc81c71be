-- A tree of nodes that grows, as routers build theirs.
local byte, sub = string.byte, string.sub
local paths = { { "us", ":id", "f" }, { "us", ":name" }, { "it", "new" }, { "it", ":id", "edit" } }
local function insert(root, path, leaf)
  local node = root
  for n = 1, #path do
    local token = path[n]
    if byte(token) == 58 then
      node.token = node.token or {}
      token = sub(token, 2)
      node = node.token
    end
    node[token] = node[token] or {}
    node = node[token]
  end
  node.leaf = leaf
end
local function work(n)
  local root
  local count = 0
  for i = 1, n do
    if i % 8 == 1 then
      root = {}
    end
    insert(root, paths[i % 4 + 1], i)
    local list = { count, i }
    list[#list + 1] = i
    list.last = count
    count = count + #list
    local held = { i, count }
    if i % 3 == 0 then
      root.held = held
    end
  end
  return count
end
return work
