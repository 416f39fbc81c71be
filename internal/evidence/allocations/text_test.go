package allocations

import (
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/ui"
)

// TestVagueRate: where LuaJIT's count of its memory could not be read, the report gives a lower bound of the rate.
func TestVagueRate(t *testing.T) {
	for name, c := range map[string]struct {
		high      float64
		has, lack string
	}{
		"known": {4e6, "rate     1.50 MB/s (1.00 MB–2.00 MB) · 10,000 objects/s", "at least"},
		"vague": {4e9, "rate     at least 1.00 MB/s; LuaJIT collected garbage too often", "objects/s"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ui.NewPage(ui.Options{Width: 80})
			(&Result{
				Duration: 2 * time.Second, Bytes: 3e6, Low: 2e6, High: c.high, Objects: 2e4, Requests: 100,
				Lines: []Line{{Name: "f@a.lua:1", Share: 1, Bytes: 3e6, Objects: 2e4}},
			}).Text(p, "")
			if got := strings.Join(strings.Fields(p.String()), " "); !strings.Contains(got, strings.Join(strings.Fields(c.has), " ")) ||
				strings.Contains(got, c.lack) || !strings.Contains(got, "100 %") {
				t.Errorf("%s", p.String())
			}
		})
	}
}
