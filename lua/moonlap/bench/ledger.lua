--- The JIT ledger: what the compiler did in this process, trace by trace.
--
-- One per VM. It listens to the VM's own trace events (`jit.attach`), so it knows
-- of every trace, abort and flush from the moment it is opened; `events` is the number
-- seen so far, which lets a batch tell whether the compiler worked inside it.
-- @module moonlap.bench.ledger
local jit_util = require "jit.util"
local vmdef = require "jit.vmdef"
local bit = require "bit"
local json = require "moonlap.json"
local loops = require "moonlap.bench.loop"
local place = require "moonlap.bench.place"

jit.off(true, true)

local _M = {}
local mt = {__index = _M}

local band, format = bit.band, string.format
local concat = table.concat
local funcinfo, traceinfo = jit_util.funcinfo, jit_util.traceinfo
local setmetatable, tostring, type = setmetatable, tostring, type

local MAX_TRACES = 500
local MAX_ABORT_SITES = 200
local MAX_LINES = 64


-- File and line of a bytecode; for a function written in C, its name instead.
local function locate_code(func, pc)
    local info = funcinfo(func, pc)
    if info.source then
        return place.file(info.source), info.currentline
    end
    if info.ffid then
        return vmdef.ffnames[info.ffid], 0
    end
    return "C function", 0
end


-- The same for the reader of a report: the loop made for a case stands where the case does.
local function locate(self, func, pc)
    local file, line = locate_code(func, pc)
    if place.is_generated(file) and self.line > 0 then
        return self.file, self.line
    end
    return file, line
end


local function name_from(names, index)
    return (names:sub(index * 6 + 1, index * 6 + 6):gsub(" +$", ""))
end


-- The reason of an abort in words, and the name of what is not yet implemented.
local function explain(code, detail)
    local text = vmdef.traceerr[code] or ("error " .. tostring(code))
    if text:find("bytecode", 1, true) then
        local name = name_from(vmdef.bcnames, detail)
        return "NYI: bytecode " .. name, name
    elseif text:find("IR instruction", 1, true) then
        local name = name_from(vmdef.irnames, detail)
        return "NYI: cannot assemble IR instruction " .. name, name
    end
    if type(detail) == "function" then
        local file, line = locate_code(detail)
        detail = line > 0 and (file .. ":" .. line) or file
    end
    text = text:find("%", 1, true) and format(text, detail) or text
    if text:find("FastFunc", 1, true) then
        return text, tostring(detail)
    end
    return text, nil
end


local function on_record(self, func, pc)
    local trace = self.recording
    if not trace or pc < 0 then
        return
    end
    local file, line = locate_code(func, pc)
    if line > 0 then
        trace.at_file, trace.at_line = locate(self, func, pc)
        trace.in_library = place.is_library(file)
    end
    local lines = trace.lines
    if file == self.file and line > 0 and lines[#lines] ~= line and #lines < MAX_LINES then
        lines[#lines + 1] = line
    end
end


-- Whether a trace that begins here is the case's own, and neither the harness's nor the
-- entry of a generated loop.
local function is_own(file, line)
    return not place.is_library(file)
        and not (place.is_generated(file) and line == loops.ENTRY_LINE)
end


local function on_start(self, tr, func, pc, parent, exit)
    local file, line = locate(self, func, pc)
    local code = locate_code(func, pc)
    self.recording = {
        id = tr, parent = parent, exit = exit and exit >= 0 and exit or nil,
        stage = self.stage, file = file, line = line,
        func = func, pc = pc, lines = {},
        own = self.own and is_own(locate_code(func, pc)), in_library = place.is_library(code),
    }
end


local function on_stop(self, tr)
    local trace = self.recording
    self.recording = nil
    if not trace then
        return
    end
    if #self.traces >= MAX_TRACES then
        self.truncated = true
        return
    end
    local info = traceinfo(tr)
    if info and info.linktype == "interpreter" then
        return -- a stub for an exit that was given up, no trace
    end
    trace.func, trace.pc, trace.at_file, trace.at_line, trace.in_library = nil, nil, nil, nil, nil
    trace.lines = concat(trace.lines, "-")
    trace.link = info and info.linktype or "none"
    trace.ins = info and info.nins or 0
    self.traces[#self.traces + 1] = trace
end


local function on_abort(self, func, pc, code, detail)
    local trace = self.recording
    self.recording = nil
    local file, line = locate_code(func, pc)
    if place.is_generated(file) and line >= loops.END_LINE then
        return -- the loop is over, and what follows is never compiled
    elseif place.is_library(file) then
        return -- ours, not the case's
    end
    file, line = locate(self, func, pc)
    local reason, nyi = explain(code, detail)
    if line == 0 and trace then -- inside a function written in C: say who called it, too
        nyi = nyi or reason == "trace too short" and file or nil
        reason = reason:find(file, 1, true) and reason or reason .. " in " .. file
        if trace.in_library then
            return -- ours called it
        end
        file, line = trace.at_file or trace.file, trace.at_line or trace.line
    end
    local key = concat({file, line, reason, self.stage}, "\0")
    local site = self.aborts[key]
    if not site then
        if #self.abort_keys >= MAX_ABORT_SITES then
            self.truncated = true
            return
        end
        site = {
            file = file, line = line, reason = reason, nyi = nyi, count = 0, stage = self.stage,
        }
        self.aborts[key] = site
        self.abort_keys[#self.abort_keys + 1] = key
    end
    site.count = site.count + 1
    if trace and not trace.parent and #self.starts < MAX_ABORT_SITES then
        self.starts[#self.starts + 1] = trace
    end
end


--- Opens the ledger and begins to listen.
-- @treturn table the ledger; set `stage` to say what runs now, `own` to whether it is
-- the case's own code, `file` and `line` to where the case is declared
function _M.open()
    local self = setmetatable({
        events = 0, stage = "load", own = false, file = "", line = 0,
        traces = {}, aborts = {}, abort_keys = {}, starts = {}, flushes = 0, flushed = 0,
    }, mt)

    function self.on_trace(what, tr, func, pc, otr, oex)
        self.events = self.events + 1
        if what == "start" then
            on_start(self, tr, func, pc, otr, oex)
        elseif what == "stop" then
            on_stop(self, tr)
        elseif what == "abort" then
            on_abort(self, func, pc, otr, oex)
        elseif what == "flush" then
            self.flushes = self.flushes + 1
            self.flushed = #self.traces -- their numbers will be given anew
        end
    end

    function self.on_bytecode(_, func, pc)
        on_record(self, func, pc)
    end

    jit.off(self.on_trace, true)
    jit.off(self.on_bytecode, true)
    jit.attach(self.on_trace, "trace")
    jit.attach(self.on_bytecode, "record")
    return self
end


--- Stops listening; what has been seen stays.
function _M:close()
    jit.attach(self.on_trace)
    jit.attach(self.on_bytecode)
end


-- Where recording began and failed, LuaJIT may have given up for good: it then patches
-- the bytecode to a form that no longer counts (IFORL, IITERL, ILOOP, IFUNCF, IFUNCV).
local function blacklisted(self)
    local found, seen = json.array {}, {}
    for _, start in ipairs(self.starts) do
        local ours = place.is_library(locate_code(start.func, start.pc)) -- none of the case's
        local ins = jit_util.funcbc(start.func, start.pc)
        local op = ins and name_from(vmdef.bcnames, band(ins, 0xff)) or ""
        local what = op:find("^IFUNC") and "function"
            or (op == "IFORL" or op == "IITERL" or op == "ILOOP") and "loop"
        local key = start.file .. ":" .. start.line
        if what and not ours and not seen[key] then
            seen[key] = true
            found[#found + 1] = {file = start.file, line = start.line, what = what}
        end
    end
    return found
end


--- What the ledger holds, as the record's `jit` line. Sizes of machine code are read
-- here, from the traces still alive.
-- @treturn table
function _M:report()
    local total = 0
    for i, trace in ipairs(self.traces) do
        local mcode = i > self.flushed and jit_util.tracemc(trace.id)
        trace.mcode = mcode and #mcode or 0
        total = total + trace.mcode
    end
    local aborts = json.array {}
    for i, key in ipairs(self.abort_keys) do
        aborts[i] = self.aborts[key]
    end
    return {
        type = "jit",
        traces = json.array(self.traces),
        aborts = aborts,
        blacklisted = blacklisted(self),
        flushes = self.flushes,
        mcode_bytes = total,
        truncated = self.truncated,
    }
end


return _M
