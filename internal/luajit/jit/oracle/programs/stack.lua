local Stack = {}
Stack.__index = Stack
function Stack.new() return setmetatable({ n = 0 }, Stack) end
function Stack:push(v)
  local n = self.n + 1
  self.n = n
  self[n] = v
end
function Stack:pop()
  local n = self.n
  local v = self[n]
  self[n] = nil
  self.n = n - 1
  return v
end
local ops = {
  ["+"] = function(s) s:push(s:pop() + s:pop()) end,
  ["*"] = function(s) s:push(s:pop() * s:pop()) end,
  ["/"] = function(s)
    local b = s:pop()
    local a = s:pop()
    s:push(a / b)
  end,
}
local program = { 3, 4, "+", 2, "*", 7, "/", 5, "+" }
local function run(p)
  local s = Stack.new()
  for i = 1, #p do
    local op = p[i]
    local f = ops[op]
    if f then
      f(s)
    else
      s:push(op)
    end
  end
  return s:pop()
end
local function work(n)
  local x = 0
  for _ = 1, n / 20 do
    x = x + run(program)
  end
  return x
end
return work
