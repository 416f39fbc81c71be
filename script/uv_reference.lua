-- Prints docs/reference/uv.md, made from the comments in lua/moonlap/uv:
--     luajit script/uv_reference.lua >docs/reference/uv.md
-- A spec holds that the page is current and names every function there is.
local folder = (arg and arg[1] or "lua/moonlap") .. "/"

local INTRODUCTION = [[
# moonlap.uv

<!-- Made by script/uv_reference.lua from the comments in lua/moonlap/uv. Change those. -->

    local uv = require "moonlap.uv"

libuv for LuaJIT with the API of [luv](https://github.com/luvit/luv) 1.44.2. Programs for luv run
unchanged, with a file `luv.lua` on the path that says `return require "moonlap.uv"`. It makes no
FFI callbacks: [how, and what that saves](../explanation/no-callbacks.md).

It needs LuaJIT, libuv.so.1 from 1.44 on, and `libmoonlap_uvshim.so`, which `make build` puts in
`bin/`. The shim is the file that `MOONLAP_UVSHIM` names, else the one beside the Lua files, in the
checkout's `bin/`, or in the system's folders. `moonlap bench` and `moonlap run` set the variable.
Without a shim, timers, idle, prepare and check work, and functions without a callback or a handle,
such as `uv.fs_stat "x"`. The others raise an error; `uv.shim_missing()` says why.

The order of a turn is that of the libuv that is loaded. Up to 1.44 timers come first; from 1.45 on
they come last, and once before the first turn.
[What it was tested with](../explanation/no-callbacks.md#what-it-was-tested-with).

**Errors.** What fails returns `nil`, a message such as `ENOENT: no such file or directory: x`, and
the error's name. Wrong arguments raise errors. Callbacks get an error first, its name or nil.

**Arguments** that are not described are what they are called. Paths, names and addresses are
strings; `data` is a string or a list of strings. `on`, `enable` and `blocking` are booleans.
Descriptors, ports, counts and ids are numbers. Signals are numbers or names such as `"sigterm"`.

**Returns.** Where none is listed, a question returns a boolean, what is described in a noun returns
that, and everything else returns 0 or true. What connects, writes, sends or shuts down returns its
request; so do functions of files and names that are given a callback.

**Methods.** Functions of handles are methods, too: `uv.timer_start(timer, …)` is `timer:start(…)`.

As with luv, writing to a pipe that nobody reads raises SIGPIPE. An error in a callback ends the
process, unless `uv.set_error_handler` says otherwise.

What differs from luv, apart from the extensions that say so:

- a timer that is started while timers run waits for the next turn, as in libuv from 1.48 on;
- `uv.run` inside a callback returns `nil, "loop already running"`, as in luv from 1.50 on;
- the busiest functions (`timer_start`, `write`, …) say "got nil" of a missing argument,
  not "got no value";
- a closed timer forgets its interval and due time, and `ref` has no effect on a closed handle;
- a handle that has had write callbacks for 1 MiB in a turn gets the others in the next one;
- while an idle handle keeps the loop turning, the kernel is asked once a microsecond at most,
  unless something was begun meanwhile.
]]

local function lines_of(path)
    local lines = {}
    for line in assert(io.lines(path)) do
        lines[#lines + 1] = line
    end
    return lines
end

-- The modules in the order in which functions.lua names them.
local function modules()
    local names = {}
    for _, line in ipairs(lines_of(folder .. "uv/functions.lua")) do
        names[#names + 1] = line:match '^    ([%w_]+) = ["%[]'
    end
    return names
end

-- A comment's lines as paragraphs and tags: a tag goes on where a line is indented.
local function parse(comment)
    local text, tags = {}, {}
    local name, is_field
    for _, line in ipairs(comment) do
        local tag, rest = line:match "^@(%w+[^%s]*)%s*(.*)$"
        if tag == "function" or tag == "field" then
            name = rest
            is_field = tag == "field"
        elseif tag then
            tags[#tags + 1] = { tag = tag, text = rest }
        elseif #tags > 0 then
            tags[#tags].text = tags[#tags].text .. " " .. line:match "^%s*(.*)$"
        else
            text[#text + 1] = line
        end
    end
    return { text = text, tags = tags, name = name, is_field = is_field }
end

local function parameter(tag)
    local kind, text = nil, tag.text
    if tag.tag:match "^tparam" then
        kind, text = text:match "^(%S+)%s+(.*)$"
    end
    local name, about = text:match "^(%S+)%s*(.*)$"
    local optional = tag.tag:match "%[(.*)%]"
    local default = optional and optional:match "^opt=(.*)$"
    return { name = name, kind = kind, about = about, optional = optional, default = default }
end

local function returned(tag)
    if tag.tag:match "^treturn" then
        local kind, about = tag.text:match "^(%S+)%s*(.*)$"
        return kind, about
    end
    return nil, tag.text
end

local function italic(kind)
    return kind and ("*%s*"):format(kind:gsub("|", " or ")) or nil
end

local function joined(...)
    local words = {}
    for i = 1, select("#", ...) do
        local word = select(i, ...)
        if word and word ~= "" then
            words[#words + 1] = word
        end
    end
    return table.concat(words, " ")
end

-- What the introduction says of every function is not said again.
local function without_failure(about)
    return (about:gsub("^or nil, message and name of the error$", "")
        :gsub("[;,] or nil, message and name of the error$", "")
        :gsub("[;,] or nil, message and name of the error:", "; fails with")
        :gsub("[;,] or nil and an error:", "; fails with")
        :gsub("[;,] or nil and `", "; fails with `"))
end

-- How a callback is called, where the heading can say it: "callback(err, fd)".
local function called(p)
    if p.name ~= "callback" then
        return nil
    elseif p.about == "without arguments" then
        return "callback()"
    elseif p.about == "of an error's name or nil" then
        return "callback(err)"
    end
    return p.about:match "^`(callback%(.*%))`$"
end

-- What the introduction says of returns in general: success, requests, what the text calls them.
local function says_more(kind, about)
    if about == "" then
        return kind:match "table" ~= nil
    end
    return about ~= "the request" and not (kind == "number" and about == "0")
        and not (kind == "boolean" and about == "true")
end

local function print_function(name, doc)
    local names, items = {}, {}
    for _, tag in ipairs(doc.tags) do
        if tag.tag:match "param" then
            local p = parameter(tag)
            local default = p.default and "(" .. p.default .. " when left out)"
            local heading = called(p)
            names[#names + 1] = (p.optional and "[%s]" or "%s"):format(heading or p.name)
            if not heading and (p.about ~= "" or default) then
                items[#items + 1] = ("- `%s`: "):format(p.name)
                    .. joined(italic(p.kind), p.about, default)
            end
        elseif tag.tag:match "return" then
            local kind, about = returned(tag)
            about = without_failure(about)
            kind = kind and kind:gsub(";$", "")
            if says_more(kind or "", about) then
                items[#items + 1] = "- returns " .. joined(italic(kind), about)
            end
        end
    end
    local arguments = doc.is_field and "" or "(" .. table.concat(names, ", ") .. ")"
    print(("\n### uv.%s%s\n"):format(name, arguments))
    print(table.concat(doc.text, "\n"))
    if #items > 0 then
        print("\n" .. table.concat(items, "\n"))
    end
end

local function print_module(name)
    local lines = lines_of(folder .. "uv/" .. name .. ".lua")
    local title, printed_title
    local i = 1
    while i <= #lines do
        local first = lines[i]:match "^%-%-%-%s?(.*)$"
        if first then
            local comment = { first }
            while lines[i + 1] and lines[i + 1]:match "^%-%-" do
                i = i + 1
                comment[#comment + 1] = lines[i]:match "^%-%-%s?(.*)$"
            end
            local code = lines[i + 1] or ""
            if not title then
                title = first
            else
                local doc = parse(comment)
                local found = doc.name or code:match "^function api%.([%w_]+)"
                if found and not code:match "^_M%.[^a]" then
                    if not printed_title then
                        printed_title = true
                        print("\n## " .. (title:match "^(.-)[:;.]%s" or title:gsub("%.$", "")))
                    end
                    print_function(found, doc)
                end
            end
        end
        i = i + 1
    end
end

io.write(INTRODUCTION)
for _, name in ipairs(modules()) do
    print_module(name)
end
