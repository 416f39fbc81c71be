local concat = table.concat
local names = { "ann", "bob", "cyd" }
local function row(i, name)
  return "<tr><td>" .. i .. "</td><td>" .. name .. "</td></tr>"
end
local function page(k)
  local s = ""
  for i = 1, k do
    s = s .. row(i, names[i % 3 + 1])
  end
  return s
end
local function page2(k)
  local out = {}
  for i = 1, k do
    out[#out + 1] = row(i, names[i % 3 + 1])
    out[#out + 1] = "\n"
  end
  return concat(out)
end
local function work(n)
  local x = 0
  for _ = 1, n / 50 do
    x = x + #page(6)
    x = x + #page2(6)
    local a = "x" .. x % 10
    if a == "x3" or a < "x2" then
      x = x + 1
    end
  end
  return x
end
return work
