package sample

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// TestPhaseAfterWaiting: the phase of each look is known, also where the functions on the stack tell nothing: in
// timers, in light threads and after waiting in a file.
func TestPhaseAfterWaiting(t *testing.T) {
	file, err := filepath.Abs(workertest.Testdata + "/phases.lua")
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]string{"/timer": "timer", "/thread": "content", "/set": "set"}
	server := fmt.Sprintf("location = /timer { content_by_lua_file %[1]s; } location = /thread { content_by_lua_file %[1]s; } "+
		"location = /set { set_by_lua_file $found %[1]s; return 204; }", file)
	for _, phase := range []string{"rewrite", "access", "content", "header_filter", "log"} {
		answer := "return 204;"
		switch phase {
		case "content":
			answer = ""
		case "rewrite", "access":
			answer = "content_by_lua_block { ngx.say('answer') }"
		}
		phases["/"+phase] = phase
		server += fmt.Sprintf("location = /%s { %s_by_lua_file %s; %s }", phase, phase, file, answer)
	}
	pid, client := nginxWith(t, "", server)
	w := open(t, pid)
	check := func(t *testing.T, how, path string, look func() (Series, error)) {
		t.Helper()
		const enough = 5
		seen := 0
		for end := time.Now().Add(30 * time.Second); seen < enough && time.Now().Before(end); {
			looks, err := look()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range looks.Samples {
				spins := slices.ContainsFunc(s.Stack, func(f profile.Frame) bool { return f.Function == "spin" })
				of := s.Request.URI // of another one, it goes on from the test before
				if !spins || of != path && (of != "" || path != "/timer") {
					continue
				}
				if seen++; s.Phase != phases[path] {
					t.Fatalf("%s: the phase is %q, not %q: %v", how, s.Phase, phases[path], describe(s.Stack))
				}
			}
		}
		if seen < enough {
			t.Errorf("%s: seen %d times in 30 s", how, seen)
		}
	}
	for path := range phases {
		t.Run(path[1:], func(t *testing.T) {
			defer nginxtest.Request(t, client, path)()
			check(t, "stopped", path, func() (Series, error) { return w.Poll(t.Context(), 200*time.Millisecond, 200, noTick) })
			check(t, "through eBPF", path, func() (Series, error) {
				return w.Ticks(t.Context(), sampler(t), 200*time.Millisecond, 500, noTick)
			})
		})
	}
}
