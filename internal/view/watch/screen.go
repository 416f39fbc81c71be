package watch

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/moonlap/moonlap/internal/ui"
)

// A Screen draws one page after the other: in place on a terminal, else below one another.
type Screen struct {
	To       io.Writer
	Terminal bool
	Height   func() int // of the terminal
	Options  func() ui.Options
	Now      func() time.Time

	lines int // of the page before
}

// Show draws a page.
func (s *Screen) Show(snapshot Snapshot) error {
	var b bytes.Buffer
	opt := s.Options()
	if err := Draw(&b, snapshot, s.Now(), opt); err != nil {
		return err
	}
	page := b.String()
	if s.Terminal {
		page = fit(page, opt.Width, s.Height())
		if s.lines > 0 {
			page = fmt.Sprintf("\x1b[%dA\x1b[J", s.lines) + page // over the last one
		}
		s.lines = strings.Count(page, "\n")
	}
	_, err := io.WriteString(s.To, page)
	return err
}

// fit cuts a page to what a terminal shows of it: a line that has left at the top can't be drawn over,
// nor one that takes several of the terminal's.
func fit(page string, width, height int) string {
	lines := strings.SplitAfter(page, "\n")
	for i, line := range lines {
		if text, ok := strings.CutSuffix(line, "\n"); ok {
			lines[i] = ansi.Truncate(text, width, "…") + "\n"
		}
	}
	if n := len(lines) - 1; height > 2 && n >= height { // the cursor stands on a line of its own
		left := n - (height - 2)
		more := fmt.Sprintf("  %d more lines in a taller terminal, or with --once", left)
		return strings.Join(lines[:height-2], "") + ansi.Truncate(more, width, "…") + "\n"
	}
	return strings.Join(lines, "")
}
