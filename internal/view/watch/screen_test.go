package watch

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestFit: a page is cut to what a terminal can draw over, and says so.
func TestFit(t *testing.T) {
	page := strings.Repeat("line\n", 30)
	for height, want := range map[int]int{0: 30, 2: 30, 10: 9, 30: 29, 31: 30, 100: 30} {
		got := fit(page, 80, height)
		if n := strings.Count(got, "\n"); n != want {
			t.Errorf("a terminal of %d lines: %d lines, want %d", height, n, want)
		}
		if cut := want < 30; cut != strings.Contains(got, "more lines") {
			t.Errorf("a terminal of %d lines: %q", height, got)
		}
	}
	if got := fit(page, 80, 10); !strings.Contains(got, "  22 more lines") {
		t.Errorf("8 lines are shown: %q", got)
	}
	wide := strings.Repeat("\x1b[1mwide\x1b[m · ", 20) + "\n"
	for line := range strings.Lines(fit(strings.Repeat(wide, 30), 40, 10)) {
		if n := ansi.StringWidth(line); n > 40 || !strings.Contains(line, "…") {
			t.Errorf("%d columns of 40: %q", n, line)
		}
	}
}
