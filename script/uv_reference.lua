-- Prints docs/reference/uv.md, made from the comments in lua/moonlap/uv:
--     luajit script/uv_reference.lua >docs/reference/uv.md
-- A spec holds that the page is current and names every function there is.
local folder = (arg and arg[1] or "lua/moonlap") .. "/"

local INTRODUCTION = [[
# moonlap.uv

<!-- Made by script/uv_reference.lua from the comments in lua/moonlap/uv. Change those. -->

    local uv = require "moonlap.uv"

libuv for LuaJIT with the API of [luv](https://github.com/luvit/luv) 1.44.2: programs written for
luv run unchanged, with a file `luv.lua` on the path that says `return require "moonlap.uv"`. No FFI
callback is ever made; [the explanation](../explanation/no-callbacks.md) tells how that works and
what it was measured to save, and [benchmarks/uv](../../benchmarks/uv/README.md) measures it again.
`make test-uv LUV=FOLDER` runs luv's own tests; `make test-uv-programs` runs luv's examples, luvit's
tests and lit's coroutine libraries under luv and under `moonlap.uv`, from checkouts of theirs.

It needs LuaJIT, libuv from 1.44 on, and `libmoonlap_uvshim.so`, which `make build` makes with a C
compiler and puts in `bin/`. The environment's `MOONLAP_UVSHIM` names it; `moonlap bench` and
`moonlap run` name the one beside `moonlap` to their processes. Otherwise it is searched for beside
the Lua files, in the checkout's `bin/`, and where the system looks for libraries. Where none is
found (or `MOONLAP_UVSHIM=none`), a part still works with libuv alone. That is timers, idle, prepare
and check, and what is called without a callback and needs no other handle, such as
`uv.fs_stat "x"`. Everything else raises an error that says what to build. `uv.shim_missing()`
says why.

Any libuv.so.1 from 1.44 on will do, without building anything again: it is the system's, or that
in `LD_LIBRARY_PATH`. The order of a turn is that of the libuv loaded: up to 1.44 timers come first,
from 1.45 on last, and once before the first turn. It was run with Debian 12's 1.44.2 and, built
from source, 1.45.0, 1.48.0, 1.50.0 and 1.52.1, each with all specs and with luv's own tests. Among
the specs are random programs whose callbacks come in the same order as luv's on the same libuv.
`make test-uv-newer LIBUV=FOLDER LUV=FOLDER` does it again.

What fails returns `nil`, a message such as `ENOENT: no such file or directory: x`, and the error's
name. Wrong arguments raise errors. Callbacks get an error first, or nil. Functions of handles are
methods, too: `uv.timer_start(timer, …)` is `timer:start(…)`. As with luv, who writes to a pipe that
nobody reads gets SIGPIPE, and an error in a callback ends the process, unless
`uv.set_error_handler` says otherwise.

What differs from luv, apart from the extensions that say so:

- a timer that is started while timers run waits for the next turn, as in libuv from 1.48 on;
- `uv.run` inside a callback returns `nil, "loop already running"`, as in luv from 1.50 on (one of
  lit's tests, of `coro-channel`, runs the loop so, and fails here as it does there);
- the busiest functions (`timer_start`, `write`, …) say "got nil" of an argument that is missing,
  not "got no value";
- a closed timer has forgotten its interval and when it was due, and what `ref` says to a closed
  handle is not heard;
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

local function print_function(name, doc)
    local names, items = {}, {}
    for _, tag in ipairs(doc.tags) do
        if tag.tag:match "param" then
            local p = parameter(tag)
            names[#names + 1] = p.optional and "[" .. p.name .. "]" or p.name
            local default = p.default and "(" .. p.default .. " when left out)"
            if p.kind or p.about ~= "" then
                items[#items + 1] = ("- `%s`: "):format(p.name)
                    .. joined(italic(p.kind), p.about, default)
            end
        elseif tag.tag:match "return" then
            local kind, about = returned(tag)
            items[#items + 1] = "- returns " .. joined(italic(kind), about)
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
