local format, tostring, tonumber, floor = string.format, tostring, tonumber, math.floor
local rep, reverse, upper, len = string.rep, string.reverse, string.upper, string.len
local function money(v)
  local whole = floor(v)
  local cents = floor((v - whole) * 100 + 0.5)
  return format("%d.%02d", whole, cents)
end
local function work(n)
  local x = 0
  for i = 1, n / 5 do
    local s = money(i * 1.37)
    x = x + #s
    s = format("%s=%q", "k" .. i, "v")
    x = x + #s
    s = tostring(i / 3)
    x = x + tonumber(s)
    s = format("%5.2f %x %g", x, i, i / 7)
    x = x % 100 + #s
    s = "id-" .. i .. "-" .. x
    x = x + len(upper(s))
    s = reverse(rep("ab", 5))
    x = x + #s
  end
  return x
end
return work
