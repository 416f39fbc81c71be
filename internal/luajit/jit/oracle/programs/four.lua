local function work(n)
  local a, b, c, d, x = 1, 2, 3, 4, 1
  for _ = 1, n do
    a = x / (a + 0.1)
    b = x / (b + 0.1); b = x / (b + 0.2)
    c = x / (c + 0.1); c = x / (c + 0.2); c = x / (c + 0.3)
    d = x / (d + 0.1); d = x / (d + 0.2); d = x / (d + 0.3); d = x / (d + 0.4)
    x = 1 + (a + b + c + d) * 1e-9
  end
  return x
end
return work
