--- What nvim-nio wants of Neovim, for its tests under busted with any luv: the loop, and waiting
-- for it. Run by script/test-uv-programs.
-- @module spec.support.uv_nvim
local uv = require "luv"

local function later(ms, fn)
    local timer = uv.new_timer()
    timer:start(ms, 0, function()
        timer:close()
        fn()
    end)
end

local function flat(list, into)
    for _, value in ipairs(list) do
        if type(value) == "table" then
            flat(value, into)
        else
            into[#into + 1] = value
        end
    end
    return into
end

local vim = {
    loop = uv, uv = uv,
    env = setmetatable({}, { __index = function(_, name) return os.getenv(name) end }),
    log = { levels = { TRACE = 0, DEBUG = 1, INFO = 2, WARN = 3, ERROR = 4 } },
    notify = print,
    inspect = tostring,
    schedule = function(fn) later(0, fn) end,
    defer_fn = function(fn, ms) later(ms, fn) end,
    in_fast_event = function() return false end,
    tbl_flatten = function(list) return flat(list, {}) end,
    startswith = function(text, start) return text:sub(1, #start) == start end,
    endswith = function(text, ending) return ending == "" or text:sub(-#ending) == ending end,
    fn = {
        has = function() return 0 end,
        tempname = os.tmpname,
        stdpath = function() return os.getenv "TMPDIR" or "/tmp" end,
        mkdir = function() end,
    },
    api = {}, ui = {}, lsp = {},
}

function vim.fn.tempname()
    local path = os.tmpname()
    os.remove(path)
    return path
end

function vim.tbl_extend(_, ...)
    local all = {}
    for _, list in ipairs { ... } do
        for key, value in pairs(list) do
            if all[key] == nil then
                all[key] = value
            end
        end
    end
    return all
end

function vim.split(text, separator)
    local parts = {}
    for part in (text .. separator):gmatch("(.-)" .. separator) do
        parts[#parts + 1] = part
    end
    return parts
end

-- The loop goes on until it is so, or the time is over.
function vim.wait(ms, is_so, interval)
    local over = uv.hrtime() + ms * 1e6
    local tick = uv.new_timer()
    tick:start(0, interval or 20, function() end)
    while not is_so() and uv.hrtime() < over do
        uv.run "once"
    end
    tick:close()
    return is_so()
end

_G.vim = vim
require("busted.runner")({ standalone = false })
