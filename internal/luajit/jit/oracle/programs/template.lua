local gsub, find, concat, tostring = string.gsub, string.find, table.concat, tostring
local ent = { ["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;", ['"'] = "&quot;" }
local function escape(s)
  if type(s) ~= "string" then
    return tostring(s)
  end
  if find(s, '[<>&"]') then
    return (gsub(s, '[<>&"]', ent))
  end
  return s
end
local users = {}
for i = 1, 12 do users[i] = { name = "user" .. i, age = 20 + i, admin = i % 3 == 0 } end
local function render(ctx)
  local out, n = {}, 0
  n = n + 1
  out[n] = "<ul>"
  for _, u in ipairs(ctx.users) do
    n = n + 1
    out[n] = "<li>"
    n = n + 1
    out[n] = escape(u.name)
    if u.admin then
      n = n + 1
      out[n] = " (admin)"
    end
    n = n + 1
    out[n] = escape(u.age)
    n = n + 1
    out[n] = "</li>"
  end
  n = n + 1
  out[n] = "</ul>"
  return concat(out, "", 1, n)
end
local function work(n)
  local x = 0
  for _ = 1, n / 25 do
    x = x + #render { users = users }
  end
  return x
end
return work
