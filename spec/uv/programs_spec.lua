local child = require "spec.support.child"
local support = require "spec.support.uv"

-- Programs in luvit's style, in spec/support/uv_programs, and what each prints. Those of luv,
-- luvit and lit themselves are run by script/test-uv-programs.
local PROGRAMS = {
    chat = "heard 16 16 16 16 16\nalive\tfalse\n",
    children = "environment: 0 0 [blue\n] []\nfolder: 0 0 [/\n] []\nkilled: 0 9 [] []\n"
        .. "large: 0 0 [1000000\n] []\nnot there: ENOENT: no such file or directory\n"
        .. "sort: 0 0 [apple\nfig\npear\n] []\nstatus: 7 0 [out\n] [err\n]\n",
    clocks = "immediate\nnext immediate\narguments 1 nil three\nslept 1\nslept 2\nslept 3\n"
        .. "5\t4\tfalse\n",
    copy = "2000000\ttrue\ttrue\n",
    datagrams = "1four=?\n1one=1\n1three=3\n1two=2\n2four=?\n2one=1\n2three=3\n2two=2\n"
        .. "3four=?\n3one=1\n3three=3\n3two=2\naddress nil 127.0.0.1 53\n"
        .. "no address EAI_NONAME nil\n",
    farm = "pool\t2262\t10\t1\t18001\nthread\t2262\t1\n",
    lines = "2\n\n10\tnil\ta\nerror\tno\nerror\tunexpected symbol near ')'\n",
}

local INPUT = '1+1\nx = 5\nx * 2, nil, "a"\nerror("no", 0)\n)\n'

describe("A program in luvit's style", support.with_uv(function()
    local function run(name, module)
        return child.with_folder(function(folder)
            child.write(folder .. "/program.lua",
                child.read("spec/support/uv_programs/" .. name .. ".lua"))
            child.write(folder .. "/input", INPUT)
            local done = child.start(folder, { args = { "program.lua", module, "." },
                prefix = [[sh -c 'cat input | "$@"' sh timeout -s KILL 120]] })
            return done.status == 0 and done.stdout
                or ("status %d: %s%s"):format(done.status, done.stdout, done.stderr)
        end)
    end

    for name, wanted in pairs(PROGRAMS) do
        it("does its work: " .. name, function()
            assert.equal(wanted, run(name, "moonlap.uv"))
        end)
    end

    it("does the same with luv", function()
        local has_luv = child.with_folder(function(folder)
            return child.start(folder, { args = { "-e", "require 'luv'" } }).status == 0
        end)
        if not has_luv then
            if os.getenv "MOONLAP_TEST_REQUIRE_ALL" then
                error "luv is missing: run script/bootstrap test (lua-luv)"
            end
            return pending "there is no luv to compare with: apt-get install lua-luv on Debian"
        end
        for name, wanted in pairs(PROGRAMS) do
            local got
            for _ = 1, 3 do -- luv 1.44 itself may crash at the end of a program
                got = run(name, "luv")
                if got == wanted then break end
            end
            assert.equal(wanted, got, name)
        end
    end)
end))
