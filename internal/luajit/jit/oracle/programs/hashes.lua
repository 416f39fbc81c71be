local bit = require "bit"
local band, bor, bxor, bnot = bit.band, bit.bor, bit.bxor, bit.bnot
local rshift, arshift, rol = bit.rshift, bit.arshift, bit.rol
local bswap, tobit = bit.bswap, bit.tobit
local function crc_table()
  local t = {}
  for i = 0, 255 do
    local c = i
    for _ = 1, 8 do
      if band(c, 1) == 1 then
        c = bxor(rshift(c, 1), 0xedb88320)
      else
        c = rshift(c, 1)
      end
    end
    t[i] = c
  end
  return t
end
local crc = crc_table()
local text = ("0123456789abcdef"):rep(4)
local function crc32(s)
  local c = -1
  for i = 1, #s do
    c = bxor(crc[band(bxor(c, s:byte(i)), 255)], rshift(c, 8))
  end
  return bnot(c)
end
local function mix(a, b)
  a = tobit(a + b)
  b = bxor(rol(b, 7), a)
  a = bswap(a)
  b = arshift(b, 2)
  return bor(a, band(b, 0xffff))
end
local function popcount(v)
  local n = 0
  while v ~= 0 do
    v = band(v, v - 1)
    n = n + 1
  end
  return n
end
local function work(n)
  local x, y = 1, 2
  for i = 1, n / 10 do
    x = crc32(text) + i
    y = mix(x, y)
    x = popcount(y)
  end
  return x
end
return work
