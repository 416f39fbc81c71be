--- Loading of modules when they are first used: for a quick start, and a heap of few objects.
--
-- Their texts are read at once, since later there may be no descriptor left, or another folder or
-- version; but only what is used is compiled and run, which takes most of the time.
--
-- The library's table has all its names from the start; for the function of a module that is not
-- loaded stands one that loads it and calls it. Then the function itself stands in the table. Who
-- has taken the other one out of it before goes on through that: compiled, some nanosecond a call.
-- @module moonlap.uv.loading

local bit = require "bit"
local arity = require "moonlap.uv.arity"
local functions = require "moonlap.uv.functions"
local parking = require "moonlap.uv.parking"

local _M = {}

local package, pairs, ipairs, type, assert = package, pairs, ipairs, type, assert
local require, loadstring, getinfo, tonumber = require, loadstring, debug.getinfo, tonumber
local collectgarbage, error, pcall, unpack = collectgarbage, error, pcall, unpack

-- libuv's: 44 of 1.44.2.
local VERSION = bit.band(bit.rshift(require("moonlap.uv.ffi").uv_version(), 8), 0xff)

local PREFIX = "moonlap.uv."
local SOURCE = getinfo(1, "S").source

-- The library's functions by name, and which modules they are of: what is loaded by now.
local known, is_known = {}, {}

-- The library's table.
local library

-- Names of functions; what was made of functions as methods, which classes share.
local names, methods = {}, {}
local n_classes = 0

-- A program may have put something of its own in a function's place.
local function stands_in(value)
    return type(value) == "function" and getinfo(value, "S").source == SOURCE
end

local function install(name, value)
    known[name] = value
    if stands_in(library[name]) then
        library[name] = value
    end
end

local function wrapped(fn, is_method)
    return parking.wrap(arity.wrap(fn, names[fn], is_method), names[fn])
end

local function install_methods(class)
    for key, fn in pairs(class) do
        methods[fn] = methods[fn] or wrapped(fn, true)
        class[key] = methods[fn]
    end
    if class.read_start then
        for _, name in ipairs {
            "read", "read_start_pointer", "write_pointer", "try_write_pointer",
        } do
            class[name] = known[name] or _M.stand_in(name)
        end
    end
end

-- What is loaded by now: a module, and those which that one needs.
local function publish()
    local fresh = {}
    for module in pairs(functions) do
        local loaded = not is_known[module] and package.loaded[PREFIX .. module]
        if type(loaded) == "table" and loaded.api then
            is_known[module] = true
            fresh[#fresh + 1] = loaded.api
            for name, fn in pairs(loaded.api) do
                names[fn] = name
            end
        end
    end
    local handle = package.loaded[PREFIX .. "handle"]
    while handle and n_classes < #handle.method_tables do
        n_classes = n_classes + 1
        install_methods(handle.method_tables[n_classes])
    end
    for _, api in ipairs(fresh) do
        for name, fn in pairs(api) do
            if type(fn) == "function" then
                install(name, methods[fn] or wrapped(fn, false))
            end
        end
    end
end

-- The modules of this copy of the library, by name. A program may take them out of
-- `package.loaded`, as busted does behind each file, and may have loaded the library once more
-- since. What is loaded late must find those that it belongs to, and nobody else's.
local own = {}

-- The texts of those that are not loaded, by their names.
local texts = {}

local function is_ours(name)
    return type(name) == "string" and name:sub(1, #PREFIX) == PREFIX
end

-- Is this copy the one that the program finds?
local function is_current()
    return package.loaded[PREFIX .. "loading"] == _M
end

-- Lets `require` find this copy's modules alone. Returns what it would have found.
local function show_own()
    local theirs, adopts = {}, is_current()
    for name, module in pairs(package.loaded) do
        if is_ours(name) then
            theirs[name] = module
            if adopts and own[name] == nil then -- the program has required it itself
                own[name] = module
            end
            package.loaded[name] = nil
        end
    end
    for name, module in pairs(own) do
        package.loaded[name] = module
    end
    return theirs
end

-- The reverse. What was loaded stays where the program can find it, if that is this copy.
local function put_back(theirs)
    local stays = theirs[PREFIX .. "loading"] == _M
    for name, module in pairs(package.loaded) do
        if is_ours(name) then
            own[name] = module
            package.loaded[name] = stays and module or nil
        end
    end
    for name, module in pairs(stays and {} or theirs) do
        package.loaded[name] = module
    end
end

-- In a finalizer LuaJIT lets nobody switch its compiler off. What modules want off that are loaded
-- in one waits for the next module, or the next `uv.run`.
local jit, jit_off = jit, jit.off
local wanted_off = {}

local function want_off(...)
    wanted_off[#wanted_off + 1] = { ... }
end

local function is_in_finalizer()
    return not pcall(jit_off, want_off)
end

--- Switches LuaJIT's compiler off for what could not have that when it was loaded.
function _M.settle()
    if #wanted_off == 0 or is_in_finalizer() then
        return
    end
    local list = wanted_off
    wanted_off = {}
    for _, arguments in ipairs(list) do
        jit_off(unpack(arguments))
    end
end

local function require_anywhere(name)
    if not is_in_finalizer() then
        _M.settle()
        return pcall(require, name)
    end
    local off = jit.off
    rawset(jit, "off", want_off)
    local ok, result = pcall(require, name)
    rawset(jit, "off", off)
    return ok, result
end

local function load_one(module)
    local theirs = show_own()
    local ok, result = require_anywhere(PREFIX .. module)
    if not ok then
        -- It may be tried again: `require` marks what has failed.
        for name in pairs(texts) do
            package.loaded[name] = nil
        end
    end
    if ok and library then -- in a thread, a message may need it before the program does
        publish()
    end
    put_back(theirs)
    return ok, result
end

-- A finalizer that ran meanwhile might use what is being loaded. To start the collector again
-- begins a collection: nothing tells how far it had got, and to put it off might double the heap.
local function load(module)
    local collects = collectgarbage "isrunning"
    collectgarbage "stop"
    local ok, result = load_one(module)
    if collects then
        collectgarbage "restart"
    end
    if not ok then
        error(result, 0)
    end
    return result
end

--- A module of this copy of the library: for those that are first wanted when the program runs.
-- @tparam string module without the prefix
-- @treturn table
function _M.module(module)
    return own[PREFIX .. module] or load(module)
end

local function module_of(name)
    for module, list in pairs(functions) do
        if (" " .. list .. " "):find("%s" .. name .. "[%s@]") then
            return module
        end
    end
end

local function get(name)
    if not known[name] then
        load(module_of(name))
    end
    return known[name]
end

--- Makes what stands for a function.
-- @tparam string name
-- @treturn function
function _M.stand_in(name)
    return function(...)
        return get(name)(...)
    end
end

-- This library's folder; nil where this file's text did not come from one.
local folder = SOURCE:match "^@(.*)loading%.lua$"

-- What `require` calls for a module whose text is there.
local function run_text(name)
    local file = "@" .. folder .. name:sub(#PREFIX + 1) .. ".lua"
    local module = assert(loadstring(texts[name], file))(name)
    texts[name], package.preload[name] = nil, nil
    return module
end

local function read_text(module)
    local name = PREFIX .. module
    if not folder or package.loaded[name] or package.preload[name] then
        return
    end
    local file = io.open(folder .. module .. ".lua")
    if file then
        texts[name], package.preload[name] = file:read "*a", run_text
        file:close()
    end
end

--- Makes a table the library's.
-- @tparam table table gets luv's functions
function _M.fill(table)
    library = table
    for module, list in pairs(functions) do
        read_text(module)
        for entry in list:gmatch "%S+" do
            local name, minor = entry:match "^([^@]+)@?1?%.?(%d*)$"
            if (tonumber(minor) or 0) <= VERSION then
                library[name] = _M.stand_in(name)
            end
        end
    end
    publish()
    put_back(show_own())
end

-- What is done once a module, in loops and by functions that LuaJIT leaves to its interpreter. Not
-- `get`: a program may go on through it.
for _, fn in ipairs {
    show_own, put_back, require_anywhere, load_one, load, module_of, run_text, is_in_finalizer,
    publish, want_off, _M.settle, is_ours,
} do
    jit_off(fn)
end

return _M
