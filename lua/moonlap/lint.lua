--- The engine of `moonlap lint`: reads chunks, runs rules, writes findings.
--
-- Go starts `luajit` with `require("moonlap.lint").main()` and talks over stdin. A request is a
-- line of words, then as many bytes as its last word says:
--
--     rule NAME PATH BYTES            source of a rule
--     own NAME PATH BYTES             the same of the user's, which is watched
--     settings BYTES                  source of .moonlap.lua; the answer is its table
--     vm 0                            the answer is what it makes of built-in functions
--     ready 0                         no more rules come
--     lua ID CLASS PHASE LINE COLUMN BYTES    a chunk; PHASE is - for a file, and ? for one that
--                                     is known to deal with requests
--     conf ID CLASS BYTES             nginx.conf's directives, as `moonlap.lint.conf` has them
--
-- PATH has its blanks as %20. Answers are lines of JSON on descriptor 3. Each request is answered
-- by one of type `done`, behind its `finding`, `fault` and `ignored` lines; the last are what
-- comments silence.
-- @module moonlap.lint
local channel = require "moonlap.bench.channel"
local conf = require "moonlap.lint.conf"
local file = require "moonlap.lint.file"
local ignores = require "moonlap.lint.ignores"
local roles = require "moonlap.lint.roles"
local rules = require "moonlap.lint.rules"
local scopes = require "moonlap.lint.scopes"
local settings = require "moonlap.lint.settings"
local syntax = require "moonlap.lint.syntax"
local vm = require "moonlap.lint.vm"
local walk = require "moonlap.lint.walk"

local _M = {}

local ipairs, pairs, pcall = ipairs, pairs, pcall
local tonumber, tostring = tonumber, tostring
local stdin = io.stdin

local out, prepared
local loaded = {}
local ended = {} -- names of rules that took too long: no file is read with them any more


local function fault(id, kind, line, column, message, rule)
    out:write {type = "fault", id = id, kind = kind, line = line, column = column,
        message = message, rule = rule}
end


local function done(id)
    out:write {type = "done", id = id}
end


-- Tells whether a finding is shown: its rule speaks in this class of code, and no comment says
-- otherwise.
local function shown(finding, silenced)
    local rule, line = finding.rule, silenced.lines[finding.own_line]
    return prepared.by_name[rule].in_class[finding.class]
        and not silenced.file[rule] and not (line and line[rule])
end


-- Runs the rules over a chunk. One that throws is reported, and the others run again without it.
local function findings_of(place, source)
    local ready, failed = prepared, {unpack(ended)}
    repeat
        local findings = {}
        local chunk = scopes.resolve(source.tree)
        roles.note(chunk)
        local read = file.new(place, source, ready, function(finding)
            findings[#findings + 1] = finding
        end)
        local ok, err = pcall(walk.walk, read, chunk)
        if ok then
            return findings, read
        end
        fault(place.id, "rule", 1, 1, tostring(err), read.rule)
        failed[#failed + 1] = read.rule
        if rules.took_too_long(err) then
            ended[#ended + 1] = read.rule
            prepared = rules.prepare(loaded, ended)
        end
        ready = rules.prepare(loaded, failed)
    until false
end


local function read_chunk(place, text)
    local source, wrong = syntax.parse(text)
    if not source then
        local line = wrong.line + place.line - 1
        local column = wrong.line == 1 and wrong.column + place.column - 1 or wrong.column
        return fault(place.id, "syntax", line, column, wrong.message)
    end
    local silenced = ignores.read(source, function(name) return prepared.by_name[name] ~= nil end)
    local findings, read = findings_of(place, source)
    for _, finding in ipairs(findings) do
        if shown(finding, silenced) then
            finding.type, finding.id, finding.own_line = "finding", place.id, nil
            out:write(finding)
        end
    end
    for rule in pairs(silenced.file) do
        out:write {type = "ignored", id = place.id, rule = rule, line = 0}
    end
    for line, of_line in pairs(silenced.lines) do
        for rule in pairs(of_line) do
            out:write {type = "ignored", id = place.id, rule = rule, line = line + place.line - 1}
        end
    end
    for _, w in ipairs(silenced.wrong) do
        local line, column = read:place(w.node.line, w.node.offset)
        out:write {type = "finding", id = place.id, rule = "ignore", line = line, column = column,
            message = w.message, class = place.class, loops = 0, cold = false}
    end
end


local requests = {}

local function load_rule(words, text, own)
    local path = words[2]:gsub("%%20", " ")
    local rule, err = rules.load(words[1], text, path, own)
    if rule then
        loaded[#loaded + 1] = rule
    else
        fault(0, "rule", 1, 1, err, words[1])
    end
    done(0)
end

function requests.rule(words, text)
    load_rule(words, text, false)
end

function requests.own(words, text)
    load_rule(words, text, true)
end

function requests.ready()
    prepared = rules.prepare(loaded)
    done(0)
end

function requests.vm()
    out:write {type = "vm", built_ins = vm.facts()}
    done(0)
end

function requests.settings(_, text)
    local read, err = settings.read(text)
    if read then
        out:write {type = "settings", settings = read}
    else
        fault(0, "settings", err.line, 1, err.message)
    end
    done(0)
end

function requests.lua(words, text)
    local place = {
        id = tonumber(words[1]), class = words[2],
        phase = not words[3]:find "^[-?]$" and words[3] or nil, requests = words[3] == "?" or nil,
        line = tonumber(words[4]), column = tonumber(words[5]),
    }
    local ok, err = pcall(read_chunk, place, text)
    if not ok then -- of moonlap itself: the other files are still read
        local why = tostring(err)
        if why:find("stack overflow", 1, true) then
            why = "LuaJIT takes this, but it is nested too deep for moonlap"
        end
        fault(place.id, "internal", 1, 1, why)
    end
    done(place.id)
end

function requests.conf(words, text)
    local id, class = tonumber(words[1]), words[2]
    local directives = conf.read(text)
    for _, rule in ipairs(prepared.conf) do
        local findings = {}
        local ok, err = pcall(conf.check, directives, rule, class, findings)
        if not ok then
            fault(id, "rule", 1, 1, tostring(err), rule.rule)
        elseif prepared.by_name[rule.rule].in_class[class] then
            for _, finding in ipairs(findings) do
                finding.type, finding.id = "finding", id
                out:write(finding)
            end
        end
    end
    done(id)
end


-- KiB of memory at which garbage is collected, between two requests. A tree takes about 50 times
-- its source, of which Go sends 4 MiB at most.
local MOST_GARBAGE = 16 * 1024


--- Answers requests until stdin ends.
function _M.main()
    local err
    out, err = channel.open(0, {})
    if not out then
        io.stderr:write("moonlap: ", err, "\n")
        os.exit(1)
    end
    os.exit = function() -- luacheck: ignore 122
        error("a rule calls os.exit", 2)
    end
    collectgarbage "stop" -- a chunk's tree is garbage as a whole: to mark it meanwhile is in vain
    for line in stdin:lines() do
        local words = {}
        for word in line:gmatch "%S+" do
            words[#words + 1] = word
        end
        local kind = table.remove(words, 1)
        local bytes = tonumber(table.remove(words))
        local text = bytes > 0 and stdin:read(bytes) or ""
        requests[kind](words, text)
        if collectgarbage "count" > MOST_GARBAGE then
            collectgarbage "collect"
            collectgarbage "stop" -- a collection starts it again
        end
    end
end


return _M
