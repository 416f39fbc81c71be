--- What a rule sees of the file that is read, and how it reports.
-- @module moonlap.lint.file
local names = require "moonlap.lint.names"
local vm = require "moonlap.lint.vm"

local _M = {}
local File = {}
File.__index = File

local find, format = string.find, string.format
local ipairs, pairs, setmetatable = ipairs, pairs, setmetatable


--- A file, or a block of Lua in nginx.conf.
-- @tparam table place `id`, `class`, `phase` (nil for a file), `line` and `column` where it begins;
-- `requests` is true where it is known to deal with them
-- @tparam table source what `syntax.parse` returned
-- @tparam table rules what `rules.prepare` returned
-- @tparam function found called with each finding
function _M.new(place, source, rules, found)
    return setmetatable({
        id = place.id, class = place.class, phase = place.phase, requests = place.requests,
        first_line = place.line or 1, first_column = place.column or 1,
        source = source, rules = rules, found = found, data = {},
    }, File)
end


--- What an expression means: `ngx.re.find`, `@cjson.encode`, nil where that is unknown.
function File.name(_, node)
    return names.of(node)
end


--- The text of a node as it stands in the source.
function File:text(node)
    return self.source.text:sub(node.offset, node.end_offset)
end


-- What stands in a file that deals with requests: as it is, or a word and what stands around it.
-- A search for a plain word costs a fraction of one for a pattern.
local OF_REQUESTS = {
    "ngx.var", "ngx.req", "ngx.ctx", "ngx.header", "ngx.say", "ngx.print", "ngx.exit",
    "kong.request", "kong.response", "kong.service",
}
local HANDLERS = {
    access = "[.:]access%s*%(", rewrite = "[.:]rewrite%s*%(",
    header_filter = "[.:]header_filter%s*%(", body_filter = "[.:]body_filter%s*%(",
    log = "[.:]log%s*%(%s*conf",
}

local function names_requests(text)
    for _, word in ipairs(OF_REQUESTS) do
        if find(text, word, 1, true) then
            return true
        end
    end
    for word, pattern in pairs(HANDLERS) do
        if find(text, word, 1, true) and find(text, pattern) then
            return true
        end
    end
    return false
end

--- Tells whether the file deals with requests: it runs in a phase of theirs, or reads or answers
-- them. Of other code, a library's, nobody knows who calls it: rules about what costs little say
-- nothing there.
function File:deals_with_requests()
    if self.requests == nil then
        self.requests = self.phase ~= nil or names_requests(self.source.text)
    end
    return self.requests
end


--- Tells whether what stands in a branch comes before what stands in another, whichever way the
-- function goes.
-- @tparam table branch a `file.branch`, or nil for the function itself
-- @tparam table other the same of what stands below
function File.above(_, branch, other)
    while other and other ~= branch do
        other = other.outer
    end
    return other == branch
end


--- What this VM makes of a call of a built-in function: compiled, stitched, aborted, interpreted,
-- or arguments where that depends on them; nil where it is no built-in function that was asked for.
function File.compiled(_, name)
    return vm.facts()[name]
end


--- Line and column of a byte offset, in the file that the user knows.
function File:place(line, offset)
    local column = offset - self.source.line_offsets[line] + 1
    if line == 1 then
        column = column + self.first_column - 1
    end
    return line + self.first_line - 1, column
end


-- What a tail call calls: while it runs, its caller is gone from the stack. nil for other nodes.
local function tail_of(node)
    local parent = node.parent
    if not parent or parent.tag ~= "Return" or #parent > 1 then
        return nil
    end
    return node.tag == "Call" and (names.of(node[1]) or "?") or node.tag == "Invoke" and node[2][1]
        or nil
end


--- Reports a finding of the rule that runs.
-- @tparam table node where
-- @tparam string message one sentence, without the price
-- @tparam[opt] table more `loops`: iterations around it beyond those seen; `func`: its function
-- where that is not the current one; `fix`: edits {from, to, text} in bytes, where the meaning
-- surely stays; `sometimes`: only some calls have something to gain; `level`: "error" where the
-- code throws, "note" where it does no harm today
function File:report(node, message, more)
    local func = more and more.func or self.func
    local line, column = self:place(node.line, node.offset)
    self.found {
        rule = self.rule, line = line, column = column, message = message,
        class = func and func.class or self.class,
        loops = (more and more.loops or 0) + (more and more.func and 0 or self.loops),
        cold = self.cold > 0, tail = tail_of(node), known_as = func and func.node.known_as,
        fix = more and more.fix, level = more and more.level, own_line = node.line,
        sometimes = more and more.sometimes,
    }
end


--- Reports with a message that is formatted.
function File:reportf(node, text, ...)
    self:report(node, format(text, ...))
end


--- The rule's own table of the function that is walked.
function File:here()
    local data = self.func.data
    if not data[self.rule] then
        data[self.rule] = {}
    end
    return data[self.rule]
end


return _M
