package hosts

import (
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// TestDiffer: a host with another VM, build or nginx is named; two VMs that a run compares, and the order of them, are none.
func TestDiffer(t *testing.T) {
	vm := func(version, build string, jit bool) record.VM {
		return record.VM{Version: version, Build: build, JIT: jit}
	}
	a, b, old := vm("LuaJIT 2.1", "x", true), vm("LuaJIT 2.1", "y", true), vm("LuaJIT 2.0.5", "", true)
	found := func(name string, vms ...record.VM) Found {
		return Found{Host: record.Host{Name: name}, Results: &record.Results{VMs: vms}}
	}
	inNginx := found("w3", a)
	inNginx.Results.Nginx = &record.Nginx{Version: "1.22.1", LuaModule: "0.10.23"}
	const begins = "the hosts did not measure the same software: "
	tests := map[string]struct {
		hosts []Found
		want  string
	}{
		"the same":      {[]Found{found("w1", a), found("w2", a, a)}, ""},
		"both compared": {[]Found{found("w1", a, old), found("w2", old, a)}, ""},
		"a version":     {[]Found{found("w1", a), found("w2", old), found("w3", b)}, "LuaJIT 2.1 on w1, w3; LuaJIT 2.0.5 on w2"},
		"a build":       {[]Found{found("w1", a), found("w2", b)}, "LuaJIT 2.1 (x) on w1; LuaJIT 2.1 (y) on w2"},
		"no JIT":        {[]Found{found("w1", a), found("w2", vm("LuaJIT 2.1", "x", false))}, "LuaJIT 2.1 on w1; LuaJIT 2.1 without JIT on w2"},
		"nginx":         {[]Found{found("w1", a), inNginx}, "LuaJIT 2.1 on w1; LuaJIT 2.1 and nginx 1.22.1 with Lua module 0.10.23 on w3"},
		"one":           {[]Found{found("w1", a)}, ""},
	}
	for name, test := range tests {
		got := Merge(test.hosts, 0).Warnings
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || got[0].Text != begins+test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
