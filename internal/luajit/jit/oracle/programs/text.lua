local byte, sub, find = string.byte, string.sub, string.find
local format, char = string.format, string.char
local text = ("key=value; other=thing, "):rep(8)
local function skip(s, i)
  while byte(s, i) == 32 do
    i = i + 1
  end
  return i
end
local function work(n)
  local count, at = 0, 1
  for _ = 1, n do
    local c = byte(text, at)
    if c == 61 then
      count = count + 1
    elseif c == 59 or c == 44 then
      at = skip(text, at + 1) - 1
    elseif find(text, "o", at, true) == at then
      count = count + #sub(text, at, at + 2)
    else
      count = count + (c > 110 and 1 or 0)
    end
    local s = char(c, 65)
    if s == "kA" then
      count = count + tonumber(format("%d", count % 7))
    end
    at = at + 1
    if at > #text - 8 then
      at = 1
    end
  end
  return count
end
return work
