-- Prints docs/reference/uv.md, made from the comments in lua/moonlap/uv:
--     luajit script/uv_reference.lua >docs/reference/uv.md
-- A spec holds that the page is current and names every function there is.
local folder = (arg and arg[1] or "lua/moonlap") .. "/"

local INTRODUCTION = [[
# moonlap.uv

<!-- Made by script/uv_reference.lua from the comments in lua/moonlap/uv. Change those. -->

    local uv = require "moonlap.uv"

libuv for LuaJIT with the API of [luv](https://github.com/luvit/luv), from 1.44.2 to that of April
2026, as far as the libuv at hand has it. Programs for luv run unchanged, with a file `luv.lua` on
the path that says `return require "moonlap.uv"`. It makes no FFI callbacks:
[how, and what that saves](../explanation/no-callbacks.md).

It needs LuaJIT, libuv.so.1 from 1.44 on
([tested with](../explanation/no-callbacks.md#what-it-was-tested-with)), and `libmoonlap_uvshim.so`,
which `make build` puts in `bin/`. That file is looked for under the name in `MOONLAP_UVSHIM`, which
`moonlap bench` and `moonlap run` set, then beside the Lua files, in the checkout's `bin/`, in the
system's folders. Without it, timers, idle, prepare, check and functions without callback or handle
work; the others raise an error.

In the tables:

- Failures return nil, a message such as `ENOENT: no such file or directory: x`, and the error's
  name. Wrong arguments raise errors.
- `[x=1]` is optional, and 1 by default. An argument is described once a table. Paths, names and
  addresses are strings; descriptors, ports, counts and ids are numbers; `data` is a string or a
  list of strings; signals are numbers or names such as `"sigterm"`.
- A callback gets an error's name or nil first. Functions of files and names return their result
  without a callback. With one they return the request, and the callback gets the result.
  Connecting, writing and shutting down return the request, too.
- → is what is returned. Without it, a question returns a boolean, a function named by a noun
  returns that, and everything else 0 or true.
- `uv.timer_start(timer, …)` is `timer:start(…)`, too. `(libuv 1.45)` is the version that a function
  needs.

As with luv, writing to a pipe that nobody reads raises SIGPIPE.

What differs from luv, apart from extensions:

- the order of a turn is that of the libuv that is loaded: timers first up to 1.44; from 1.45 on
  last, and once before the first turn;
- a timer that is started while timers run waits for the next turn, as in libuv 1.48;
- a thread gets all arguments of `uv.new_thread`, where luv passes nine;
- `uv.run` inside a callback returns `nil, "loop already running"`, as in luv 1.50;
- the busiest functions (`timer_start`, `write`, …) say "got nil" of a missing argument, not "got no
  value";
- a closed timer forgets its interval and due time, and `ref` has no effect on a closed handle;
- a handle that has had write callbacks for 1 MiB in a turn gets the others in the next one;
- while an idle handle keeps the loop turning, the kernel is asked at most once a microsecond,
  unless something was begun meanwhile.
]]

-- The page's sections and the modules that each shows.
local SECTIONS = {
    { "Errors", "errors fault" },
    { "The loop", "turn loop_state" },
    { "All handles, and requests", "handle_functions req" },
    { "Timers, idle, prepare, check", "timer watcher" },
    { "Streams: TCP, pipes, terminals", "stream reading writing tcp pipe fd_pair tty" },
    { "UDP", "udp udp_multicast" },
    { "async, poll, signals", "async poll signal" },
    { "Processes", "process" },
    { "Files and folders", "fs_file fs_attributes fs_links fs_dir fs_event fs_poll" },
    { "Names of hosts and services", "dns" },
    { "Threads and work", "thread thread_settings semaphore work" },
    { "The system and this process", "system os random conversion constants" },
    { "Extensions", "go zero_copy leaks shimless" },
}

local function lines_of(path)
    local lines = {}
    for line in assert(io.lines(path)) do
        lines[#lines + 1] = line
    end
    return lines
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

-- How a callback is called, where the heading can say it: "callback(err)". What those of files and
-- names get is what the function returns.
local function called(p)
    if p.name ~= "callback" then
        return nil
    elseif p.about:match "^`callback%(err, .*%)`$" then
        return "callback"
    elseif p.about == "without arguments" then
        return "callback()"
    elseif p.about == "of an error's name or nil" then
        return "callback(err)"
    end
end

-- What the introduction says of returns in general: success, requests, what the text calls them.
local function says_more(kind, about)
    if about == "" then
        return kind:match "table" ~= nil
    end
    return about ~= "the request" and not (kind == "number" and about == "0")
        and not (kind == "boolean" and about == "true")
end

-- A type is said where there is a choice, and where nothing else is.
local function typed(kind, about)
    local has_choice = kind and kind:match "|" and not kind:match "nil" and not about:match "^`"
    return joined((has_choice or about == "") and italic(kind) or nil, about)
end

-- A row of a table. What that has said of an argument of the same name is not said again.
local function print_function(name, doc, said)
    local text = table.concat(doc.text, " "):gsub("; libuv ([%d.]+) and later", " (libuv %1)")
    local names, words, returns = {}, { text }, {}
    for _, tag in ipairs(doc.tags) do
        if tag.tag:match "param" then
            local p = parameter(tag)
            local heading = called(p)
            names[#names + 1] = (p.optional and "[%s%s]" or "%s%s"):format(heading or p.name,
                p.default and "=" .. p.default or "")
            if not heading and p.about ~= "" and said[p.name] ~= p.about then
                said[p.name] = p.about
                local about = typed(p.kind, p.about)
                words[#words + 1] = ("`%s`: %s"):format(p.name, about:gsub("([^?])$", "%1."))
            end
        elseif tag.tag:match "return" then
            local kind, about = returned(tag)
            about = without_failure(about)
            kind = kind and kind:gsub(";$", "")
            if says_more(kind or "", about) then
                returns[#returns + 1] = typed(kind, about)
            end
        end
    end
    if #returns > 0 then
        words[#words + 1] = "→ " .. table.concat(returns, ", ")
    end
    local arguments = doc.is_field and "" or "(" .. table.concat(names, ", ") .. ")"
    print(("`uv.%s%s`|%s"):format(name, arguments, table.concat(words, " ")))
end

local function print_module(name, said)
    local lines = lines_of(folder .. "uv/" .. name .. ".lua")
    local is_title = true
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
            if is_title then
                is_title = false
            else
                local doc = parse(comment)
                local found = doc.name or code:match "^function api%.([%w_]+)"
                if found and not code:match "^_M%.[^a]" then
                    print_function(found, doc, said)
                end
            end
        end
        i = i + 1
    end
end

io.write(INTRODUCTION)
for _, section in ipairs(SECTIONS) do
    print("\n## " .. section[1] .. "\n\ncall|meaning\n---|---")
    local said = {}
    for name in section[2]:gmatch "%S+" do
        print_module(name, said)
    end
end
