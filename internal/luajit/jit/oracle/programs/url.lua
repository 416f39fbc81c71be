local find, sub, gsub = string.find, string.sub, string.gsub
local char, lower = string.char, string.lower
local urls = {
  "http://example.com:8080/a/b%20c?x=1&y=two#frag",
  "https://moon.io/path?q=hello%21",
  "/only/path",
}
local function hex(h)
  return char(tonumber(h, 16))
end
local function unescape(s)
  if not find(s, "%", 1, true) then
    return s
  end
  return (gsub(s, "%%(%x%x)", hex))
end
local function split(q)
  local args = {}
  local from = 1
  while from <= #q do
    local to = find(q, "&", from, true) or #q + 1
    local eq = find(q, "=", from, true)
    if eq and eq < to then
      args[sub(q, from, eq - 1)] = unescape(sub(q, eq + 1, to - 1))
    end
    from = to + 1
  end
  return args
end
local function parse(u)
  local r = {}
  local at = find(u, "#", 1, true)
  if at then
    r.fragment = sub(u, at + 1)
    u = sub(u, 1, at - 1)
  end
  at = find(u, "?", 1, true)
  if at then
    r.args = split(sub(u, at + 1))
    u = sub(u, 1, at - 1)
  end
  at = find(u, "://", 1, true)
  if at then
    r.scheme = lower(sub(u, 1, at - 1))
    u = sub(u, at + 3)
    local slash = find(u, "/", 1, true) or #u + 1
    r.host = sub(u, 1, slash - 1)
    u = sub(u, slash)
  end
  r.path = unescape(u)
  return r
end
local function work(n)
  local x = 0
  for i = 1, n / 5 do
    local r = parse(urls[i % 3 + 1])
    x = x + #r.path
  end
  return x
end
return work
