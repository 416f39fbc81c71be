local ffi = require "ffi"
local bit = require "bit"
local bxor, rshift, lshift, band = bit.bxor, bit.rshift, bit.lshift, bit.band
local state = 88172645463325252ULL
local function nextrand()
  local s = state
  s = bxor(s, lshift(s, 13))
  s = bxor(s, rshift(s, 7))
  s = bxor(s, lshift(s, 17))
  state = s
  return s
end
local function fnv(s)
  local h = 14695981039346656037ULL
  for i = 1, #s do
    h = bxor(h, s:byte(i))
    h = h * 1099511628211ULL
  end
  return h
end
local text = "abcdefghijklmnop"
local function work(n)
  local x = 0
  for _ = 1, n / 4 do
    local r = nextrand()
    x = x + tonumber(r % 1000ULL)
    local q = r / 7ULL
    x = x + tonumber(band(q, 255ULL))
    local h = fnv(text)
    x = x + tonumber(rshift(h, 60))
    local d = ffi.cast("int64_t", r) - 5LL
    if d > 0LL then
      x = x + 1
    end
  end
  return x
end
return work
