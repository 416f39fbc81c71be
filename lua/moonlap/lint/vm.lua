--- Facts from the VM at hand: which built-in functions it compiles.
--
-- A loop around a call of each is recorded, and LuaJIT says what became of the trace: "compiled";
-- "stitched", where it ends at the call and another goes on behind it; "aborted", where none comes
-- to be; "interpreted", where nothing was even tried. Types of arguments decide, so a probe uses
-- those that are usual.
-- @module moonlap.lint.vm
local util = require "jit.util"

local _M = {}

local format = string.format
local gmatch, match = string.gmatch, string.match
local jit, load, pcall, setmetatable = jit, load, pcall, setmetatable

-- What each function is called with. `i` counts iterations; `s` is a text, `n` a number, `t` a list
-- of numbers, `m` an empty table with a metatable, `f` a function, `p` FFI memory.
local PROBES = [[
assert: i; getmetatable: m; ipairs: t; next: t; pairs: t; pcall: f, i; rawequal: t, m; rawget: t, 1
rawlen: t; rawset: m, 1, i; select: 1, i, n; select: "#", i, n; setmetatable: m, m; tonumber: s2
tostring: i; tostring: t; type: i; unpack: t; unpack: t, 1, 2; xpcall: f, f; loadstring: "return 1"
collectgarbage: "count"; require: "string"
string.byte: s; string.byte: s, 1, 2; string.char: 65; string.char: 65, 66; string.dump: f
string.find: s, "a", 1, true; string.find: s, "%a"; string.format: "%d", i; string.format: "%s", s
string.format: "%5.2f", n; string.format: "%q", s; string.gmatch: s, "%a"; string.gsub: s, "a", "b"
string.len: s; string.lower: s; string.match: s, "%a"; string.rep: s, 2; string.reverse: s
string.sub: s, 1, 2; string.upper: s
table.concat: t2; table.insert: m, i; table.insert: m, 1, i; table.maxn: t; table.remove: m
table.remove: m, 1; table.sort: t
math.abs: n; math.acos: 0.5; math.asin: 0.5; math.atan: n; math.atan2: n, i; math.ceil: n
math.cos: n; math.cosh: n; math.deg: n; math.exp: n; math.floor: n; math.fmod: n, 2; math.frexp: n
math.ldexp: n, 2; math.log: n; math.log10: n; math.max: n, i; math.min: n, i; math.modf: n
math.pow: n, 2; math.rad: n; math.random:; math.random: 9; math.randomseed: i; math.sin: n
math.sinh: n; math.sqrt: n; math.tan: n; math.tanh: n
bit.arshift: i, 1; bit.band: i, 7; bit.bnot: i; bit.bor: i, 7; bit.bswap: i; bit.bxor: i, 7
bit.lshift: i, 1; bit.rol: i, 1; bit.ror: i, 1; bit.rshift: i, 1; bit.tobit: i; bit.tohex: i
io.type: s; os.clock:; os.date:; os.getenv: "HOME"; os.time:
coroutine.create: f; coroutine.running:; coroutine.status: c; coroutine.wrap: f
debug.getinfo: 1; debug.traceback:
ffi.abi: "le"; ffi.alignof: "int"; ffi.cast: "int *", p; ffi.copy: p, s, 1; ffi.errno:
ffi.fill: p, 4; ffi.istype: "int", p; ffi.new: "int[1]"; ffi.offsetof: "struct moonlap_probe", "x"
ffi.sizeof: p; ffi.string: p, 1; ffi.typeof: "int"
]]

local SETTING = [[
local ffi = require "ffi"
pcall(ffi.cdef, "struct moonlap_probe { int x; };")
local s, s2, n, t, t2, m, p = "abc", "12", 1.5, {3, 1, 2}, {"a", "b"}, setmetatable({}, {}),
    ffi.new("int[4]")
local function f(x) return x end
local c = coroutine.create(f)
local called = %s
return called and function()
    local kept
    for i = 1, 100 do
        kept = called(%s)
    end
    return kept
end
]]


-- What becomes of the loop of a probe.
local function outcome(loop)
    local begun, result
    local function event(what, trace, func)
        if what == "start" then
            begun = func == loop and trace or nil
        elseif what == "stop" and begun then
            local ends = util.traceinfo(trace).linktype == "stitch" or result == "stitched"
            result = ends and "stitched" or "compiled"
        elseif what == "abort" and begun and not result then
            result = "aborted"
        end
    end
    jit.flush()
    jit.attach(event, "trace")
    pcall(loop)
    jit.attach(event)
    return result or "interpreted"
end


local known

--- What the VM makes of each built-in function. It is asked once, which takes some ms: less than to
-- read what was kept of it would save.
-- @treturn table by name; "arguments" where that depends on what it is called with
function _M.facts()
    if known then
        return known
    end
    known = {}
    jit.opt.start("hotloop=2", "hotexit=2")
    for probe in gmatch(PROBES, "[^;\n]+") do
        local name, arguments = match(probe, "^%s*([%w_.]+):%s*(.-)%s*$")
        local make = load(format(SETTING, name, arguments), "=probe", "t",
            setmetatable({}, {__index = _G}))
        local made, loop = pcall(make)
        if made and loop then
            local now = outcome(loop)
            known[name] = (known[name] or now) == now and now or "arguments"
        end
    end
    jit.opt.start("hotloop=56", "hotexit=10")
    jit.flush()
    return known
end


return _M
