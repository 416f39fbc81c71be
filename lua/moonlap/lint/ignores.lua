--- Comments that silence a rule: `-- moonlap: ignore RULE reason`.
--
-- Behind code it holds for its line, on a line of its own for the next line of code; with
-- `ignore-file` for the whole file. RULE may be several with commas. A comment without a reason
-- silences nothing and is a finding itself, and so is one that names no rule.
-- @module moonlap.lint.ignores
local _M = {}

local find, gmatch, match, sub = string.find, string.gmatch, string.match, string.sub
local ipairs = ipairs


local function alone(source, comment)
    local from = source.line_offsets[comment.line]
    return not find(sub(source.text, from, comment.offset - 1), "%S")
end


-- The next line below that holds something other than a comment.
local function next_code(source, line)
    local offsets = source.line_offsets
    repeat
        line = line + 1
        local from = offsets[line]
        local to = offsets[line + 1]
        local text = from and sub(source.text, from, to and to - 1 or nil)
    until not text or find(text, "^%s*[^%s%-]") or find(text, "^%s*%-[^%-]")
    return line
end


--- Reads the comments of a chunk.
-- @tparam table source what `syntax.parse` returned
-- @tparam function known tells whether a rule of that name exists
-- @treturn table `lines` (line to rules), `file` (rules), `wrong` (list of `node`, `message`)
function _M.read(source, known)
    local ignores = {lines = {}, file = {}, wrong = {}}
    for _, comment in ipairs(source.comments) do
        local whole, list, reason =
            match(comment.contents, "^%s*moonlap:%s*(ignore%S*)%s*(%S*)%s*(.*)$")
        if whole == "ignore" or whole == "ignore-file" then
            local into = ignores.file
            if whole == "ignore" then
                local line = comment.line
                if alone(source, comment) then
                    line = next_code(source, line)
                end
                into = ignores.lines[line] or {}
                ignores.lines[line] = into
            end
            for rule in gmatch(list, "[^,]+") do
                if not known(rule) then
                    ignores.wrong[#ignores.wrong + 1] = {node = comment,
                        message = "there is no rule " .. rule .. ": 'moonlap rules' lists them"}
                elseif not find(reason, "%S") then
                    ignores.wrong[#ignores.wrong + 1] = {node = comment,
                        message = "a reason is missing behind 'ignore " .. rule .. "'"}
                else
                    into[rule] = true
                end
            end
            if list == "" then
                ignores.wrong[#ignores.wrong + 1] = {node = comment,
                    message = "ignore which rule? 'moonlap: ignore RULE reason'"}
            end
        end
    end
    return ignores
end


return _M
