package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
)

func TestYardsticks(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	here := record.Environment{Machine: "0123", CPU: "AMD EPYC", Arch: "amd64"}
	day := func(n int) time.Time { return time.Date(2026, 11, n, 12, 0, 0, 0, time.UTC) }
	best := func(e record.Environment, n int) map[string]float64 { return ReadYardsticks(e, day(n)).Best() }
	keep := func(n int, seen map[string]float64) {
		t.Helper()
		if err := ReadYardsticks(here, day(n)).Keep(seen); err != nil {
			t.Fatal(err)
		}
	}

	if got := best(here, 1); got != nil {
		t.Errorf("%v of a machine that was never seen", got)
	}
	keep(1, map[string]float64{"core": 1400, "cache": 1100})
	keep(2, map[string]float64{"core": 1500, "cache": 1060})
	keep(2, map[string]float64{"core": 1450, "cache": 1080, "memory": 0})
	if diff := cmp.Diff(map[string]float64{"core": 1400, "cache": 1060}, best(here, 3)); diff != "" {
		t.Error(diff)
	}
	if from := ReadYardsticks(here, day(3)).From(); from != "2026-11-01" {
		t.Errorf("from %q", from)
	}
	// A machine that became slower for good, or a best that was wrong, is forgotten.
	if diff := cmp.Diff(map[string]float64{"core": 1450, "cache": 1060}, best(here, 16)); diff != "" {
		t.Error(diff)
	}
	// After the clock was set back, days of the future say nothing.
	keep(28, map[string]float64{"core": 700})
	if diff := cmp.Diff(map[string]float64(nil), best(here, 10)); diff != "" {
		t.Error(diff)
	}
	for _, other := range []record.Environment{{Machine: "0123", CPU: "Intel Xeon", Arch: "amd64"}, {Machine: "4567", CPU: "AMD EPYC", Arch: "amd64"}} {
		if got := best(other, 28); got != nil {
			t.Errorf("%v of another machine", got)
		}
	}

	// What is no file of ours makes a new machine of this one, and is replaced.
	kept, err := filepath.Glob(filepath.Join(cache, "moonlap", "yardsticks-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v, %v", kept, err)
	}
	for _, broken := range []string{"", "{", `{"days":{"2026-11-28":{"core":"fast"}}}`, `{"days":{"yesterday":{"core":1}}}`, `{"days":{"2026-11-28":{"core":-1}}}`} {
		if err := os.WriteFile(kept[0], []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := best(here, 28); len(got) != 0 {
			t.Errorf("%v of %q", got, broken)
		}
		keep(28, map[string]float64{"core": 1400})
		if got := best(here, 28); got["core"] != 1400 {
			t.Errorf("%v after %q", got, broken)
		}
	}
}
