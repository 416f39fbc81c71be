-- Dictionaries for dicts_test.go.
local _M = {}

local function truth(name)
    local dict = ngx.shared[name]
    ngx.update_time()
    return ('"%s":{"keys":%d,"free":%d}'):format(name, #dict:get_keys(0), dict:free_space())
end

function _M.truth()
    ngx.header.truth = "{" .. truth("small") .. "," .. truth("large") .. "," .. truth("pages") .. "," .. truth("none") .. "}"
end

-- Entries of all types and of many sizes.
function _M.small()
    local dict = ngx.shared.small
    for i = 1, 300 do dict:set("string" .. i, ("x"):rep(i)) end
    for i = 1, 50 do dict:set("number" .. i, i, 3600) end
    for i = 1, 20 do dict:set("boolean" .. i, i % 2 == 0) end
    for i = 1, 10 do
        for _ = 1, i do dict:rpush("list" .. i, "element") end
    end
    dict:set(("k"):rep(5000), "a long key")
    dict:set("binary\0\255key", "v", 7200)
    dict:delete("string7")
end

-- These have expired when they are looked for, but nothing has thrown them out.
function _M.expire()
    local dict = ngx.shared.small
    for i = 1, 40 do dict:set("short" .. i, "x", 0.001) end
    ngx.sleep(0.05)
end

function _M.large()
    local dict = ngx.shared.large
    local n = tonumber(ngx.var.arg_n)
    for i = 1, n do
        -- set deletes up to two of the oldest that have expired; but nginx's clock stands still meanwhile.
        dict:set("key" .. i, ("v"):rep(20 + i % 500), i % 4 == 0 and 3600 or 0.001)
    end
    ngx.sleep(0.05)
end

-- Values of several pages; each that comes throws out others.
function _M.pages()
    local dict = ngx.shared.pages
    local first = tonumber(ngx.var.arg_first)
    for i = first, first + tonumber(ngx.var.arg_n) - 1 do
        dict:set("page" .. i, ("v"):rep(10000 + i))
    end
end

-- More small entries than there is room for.
function _M.evict()
    local dict = ngx.shared.small
    local forced = 0
    for i = 1, tonumber(ngx.var.arg_n) do
        local _, _, forcible = dict:set("more" .. i, ("y"):rep(200))
        if forcible then forced = forced + 1 end
    end
    ngx.header.truth = forced
end

return _M
