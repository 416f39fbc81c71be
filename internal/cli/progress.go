package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/moonlap/moonlap/internal/ui"
)

// A progress shows on stderr how far a long work is: on a terminal one line that is
// drawn over and cleared at the end, elsewhere a plain line every half minute. Results
// go to stdout and never meet it.
type progress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	width    func() int
	last     time.Time // of the last drawing
	drawn    bool
}

const (
	redrawEvery = 100 * time.Millisecond // on a terminal
	repeatEvery = 30 * time.Second       // elsewhere
)

func newProgress(sys Sys) *progress {
	return &progress{
		w: sys.Stderr, terminal: sys.StderrTerminal, now: sys.Now, width: sys.Width,
		last: sys.Now(),
	}
}

// Update shows what is being done, since when, and how long it may still take; a left
// of 0 is unknown.
func (p *progress) Update(what string, elapsed, left time.Duration) {
	now := p.now()
	every := repeatEvery
	if p.terminal {
		every = redrawEvery
	}
	if now.Sub(p.last) < every && (p.drawn || !p.terminal) {
		return
	}
	p.last = now
	text := fmt.Sprintf("%s · %s", ui.Clean(what), clockTime(elapsed))
	if left > 0 {
		text += fmt.Sprintf(" · at most %s left", clockTime(left))
	}
	if !p.terminal {
		fmt.Fprintln(p.w, text)
		return
	}
	p.drawn = true
	// One column stays free: a full line would wrap on some terminals.
	fmt.Fprintf(p.w, "\r%s\x1b[K", cut(text, p.width()-1))
}

// keepDrawing has the line drawn again and again, on a goroutine of its own, until stop, which clears it.
func (p *progress) keepDrawing(draw func()) (stop func()) {
	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(redrawEvery):
				draw()
			}
		}
	})
	return func() {
		close(done)
		drawing.Wait()
		p.Clear()
	}
}

// Clear takes the line away.
func (p *progress) Clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// clockTime is a duration as people read it from afar: 7s, 1m20s, 2h5m.
func clockTime(d time.Duration) string {
	d = d.Round(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%dh%dm", h, m)
	case m > 0:
		return fmt.Sprintf("%dm%ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}

// cut shortens text to N characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	return string([]rune(text)[:most-1]) + "…"
}
