package sample

import (
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// TestHold: a stack that takes long to walk is walked as far as the time allows, and what is left out is counted.
func TestHold(t *testing.T) {
	pid, client := nginx(t)
	w := open(t, pid)
	for path, functions := range map[string]int{"/deepest": 15_000, "/nested": 60 * 1001} {
		stop := nginxtest.Request(t, client, path)
		cut := 0
		for end := time.Now().Add(20 * time.Second); cut < 3 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			s, err := w.Sample()
			if err != nil || !s.Cut || s.Request.URI != path {
				continue
			}
			cut++
			if s.LeftOut < 1 || s.LeftOut > functions+100 {
				t.Errorf("%s: of at most %d functions %d are left out", path, functions, s.LeftOut)
			}
			if !has(s.Stack, []string{"(frames left out)"}) {
				t.Errorf("%s: nothing tells of it in %d frames", path, len(s.Stack))
			}
		}
		if cut == 0 {
			t.Logf("%s: this machine is so quick that no sample took %v", path, DefaultHold)
		}
		l, err := w.Poll(t.Context(), time.Second, 999, func(time.Duration) {})
		if err != nil || l.Paused > l.Elapsed/10 {
			t.Errorf("%s: it stood still for %v of %v, %v", path, l.Paused, l.Elapsed, err)
		}
		stop()
	}
	w.Hold = time.Minute
	defer nginxtest.Request(t, client, "/nested")()
	for range 3 {
		if s, err := w.Sample(); err == nil && s.Cut {
			t.Error("a sample that had a minute was cut")
		}
	}
}
