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
	slow, slowFigure string // id of the block, and a pattern with one group: the number
	fast, fastFigure string
	times            float64
}

const ns = `([\d.]+) ns per call`

var claims = []claim{
	// Start-up dominates: 10 ms and more, against 100 ns and less.
	{"time", `real\s+\d+m([\d.]+)s`, "by_hand", ns, 1e-9 * 3e4},
	// A cold call is far from a warm one, and so is a cold hundred.
	{"cold", `(?m)^1 calls: ` + ns, "cold", `1000000 calls: ` + ns, 100},
	{"cold", `100 calls: ` + ns, "cold", `1000000 calls: ` + ns, 5},
	// The same call by hand and by the harness.
	{"by_hand", ns, "bench", `"jo"\) +([\d.]+) (?:± [\d.?]+|\([^)]+\)) ns`, 0.4},
	// The same call in CPU time, of which a busy machine takes little away; by hand it is the time that passes.
	{"bench", `"jo"\) +([\d.]+) (?:± [\d.?]+|\([^)]+\)) ns`, "cold", `1000000 calls: ` + ns, 0.25},
	// Two speeds. Whether they are told apart hangs on how quiet the machine is in the
	// short time that a test has; that they are there does not.
	{"modes", `p99 ([\d.]+) ns`, "modes", `p50 ([\d.]+) ns`, 1.3},
	// Kept work costs something.
	{"allocation", `new_list +([\d.]+) [±(]`, "allocation", `reused_list +([\d.]+) [±(]`, 1.3},
	{"concat", `dots/n=100 +([\d.]+) (?:± [\d.?]+|\([^)]+\)) µs`, "concat", `table_concat/n=100 +([\d.]+) (?:± [\d.?]+|\([^)]+\)) ns`, 5e-3},
	{"callback", `100 ffi callbacks +([\d.]+) (?:± [\d.?]+|\([^)]+\)) µs`, "callback", `100 lua calls +([\d.]+) (?:± [\d.?]+|\([^)]+\)) ns`, 50e-3},
	{"var", `var_write_read +([\d.]+) [±(]`, "var", `ctx_write_read +([\d.]+) [±(]`, 2},
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

// figure returns the smallest of a block's figures: where a page measures several times by the
// wall clock, the least disturbed is the one to compare.
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
		smallest = min(smallest, value)
	}
	return smallest
}
