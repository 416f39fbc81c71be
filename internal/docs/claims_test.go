package docs

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// A claim of a page: a figure of one block is N times a figure of another, at least.
// Both are of the same run, and the bounds are generous, because machines are noisy.
type claim struct {
	slow, slowFigure string // id of the block, and a pattern with two groups: a number and its unit
	fast, fastFigure string
	times            float64
}

// perCall is a figure that a script prints, and perCallOf what the table of `bench` says of a case:
// a busy machine may move a figure into the next unit.
const perCall = `([\d.]+) (ns) per call`

func perCallOf(name string) string {
	return name + ` +([\d.]+) (?:± [\d.?]+|\([^)]+\)) (ns|µs|ms)`
}

// units are the lengths of the units of time, in ns.
var units = map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}

var claims = []claim{
	// Start-up dominates: 10 ms and more, against 100 ns and less.
	{"time", `real\s+\d+m([\d.]+)(s)`, "by_hand", perCall, 3e4},
	// A cold call is far from a warm one, and so is a cold hundred.
	{"cold", `(?m)^1 calls: ` + perCall, "cold", `1000000 calls: ` + perCall, 100},
	{"cold", `100 calls: ` + perCall, "cold", `1000000 calls: ` + perCall, 5},
	// The same call by hand and by the harness.
	{"by_hand", perCall, "bench", perCallOf(`"jo"\)`), 0.4},
	// The same call in CPU time, of which a busy machine takes little away; by hand it is the time that passes.
	{"bench", perCallOf(`"jo"\)`), "cold", `1000000 calls: ` + perCall, 0.25},
	// Two speeds. Whether they are told apart hangs on how quiet the machine is in the
	// short time that a test has; that they are there does not.
	{"modes", `p99 ([\d.]+) (ns|µs)`, "modes", `p50 ([\d.]+) (ns|µs)`, 1.3},
	// Kept work costs something.
	{"allocation", perCallOf("new_list"), "allocation", perCallOf("reused_list"), 1.3},
	{"concat", perCallOf("dots/n=100"), "concat", perCallOf("table_concat/n=100"), 5},
	{"callback", perCallOf("100 ffi callbacks"), "callback", perCallOf("100 lua calls"), 50},
	{"var", perCallOf("var_write_read"), "var", perCallOf("ctx_write_read"), 2},
}

// TestClaims holds that both blocks of each claim stand on one page.
func TestClaims(t *testing.T) {
	for _, c := range claims {
		found := false
		for _, name := range pages(t) {
			ids := map[string]bool{}
			for _, b := range readPage(t, name).blocks(t) {
				ids[b.id] = true
			}
			found = found || ids[c.slow] && ids[c.fast]
		}
		if !found {
			t.Errorf("no page has the blocks %q and %q, of which a claim speaks", c.slow, c.fast)
		}
	}
}

// broken returns the claims that do not hold of what a page's blocks said.
func broken(t *testing.T, said map[string]string) []string {
	t.Helper()
	var all []string
	for _, c := range claims {
		if said[c.slow] == "" || said[c.fast] == "" {
			continue // of another page
		}
		slow, fast := figure(t, said[c.slow], c.slowFigure), figure(t, said[c.fast], c.fastFigure)
		if slow < c.times*fast {
			all = append(all, fmt.Sprintf("%s of %s is %g, not %g times the %g of %s in %s",
				c.slowFigure, c.slow, slow, c.times, fast, c.fastFigure, c.fast))
		}
	}
	return all
}

// figure returns the smallest of a block's figures, in ns: where a page measures several times by
// the wall clock, the least disturbed is the one to compare.
func figure(t *testing.T, output, pattern string) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(output, -1)
	if found == nil {
		t.Fatalf("nothing like %s in\n%s", pattern, output)
	}
	smallest := math.Inf(1)
	for _, f := range found {
		value, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		smallest = min(smallest, value*units[f[2]])
	}
	return smallest
}

// TestClaimUnits holds that claims compare times, however large they are.
func TestClaimUnits(t *testing.T) {
	const quick = "table_concat/n=100     585 ± 14 ns   589 ns"
	const disturbed = "table_concat/n=100  1.1 (0.4–1.1) µs  1.06 µs"
	for output, want := range map[string]float64{quick: 585, disturbed: 1100} {
		if got := figure(t, output, perCallOf("table_concat/n=100")); got != want {
			t.Errorf("%q is %g ns, not %g", output, got, want)
		}
	}
	const slow = "  dots/n=100  24 (22–25) µs  22.7 µs\n"
	if failed := broken(t, map[string]string{"concat": slow + disturbed}); len(failed) > 0 {
		t.Error(failed)
	}
	if failed := broken(t, map[string]string{"concat": "  dots/n=100  4 (2–5) µs\n" + disturbed}); len(failed) != 1 {
		t.Errorf("4 µs against 1.1 µs is five times as much: %v", failed)
	}
}
