package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fakeTerminal is what a terminal of one line shows.
type fakeTerminal struct {
	line  []rune
	at    int
	shown []string // after each write
}

func (f *fakeTerminal) Write(b []byte) (int, error) {
	for rest := string(b); rest != ""; {
		if after, ok := strings.CutPrefix(rest, "\x1b[K"); ok {
			f.line, rest = f.line[:f.at], after
			continue
		}
		r := []rune(rest)[0]
		rest = rest[len(string(r)):]
		if r == '\r' {
			f.at = 0
			continue
		}
		f.line = append(f.line[:f.at], append([]rune{r}, f.line[min(f.at+1, len(f.line)):]...)...)
		f.at++
	}
	f.shown = append(f.shown, string(f.line))
	return len(b), nil
}

func TestProgressOnTerminal(t *testing.T) {
	var screen fakeTerminal
	now := time.Unix(0, 0)
	p := newProgress(Sys{
		Stderr: &screen, StderrTerminal: true,
		Now: func() time.Time { return now }, Width: func() int { return 30 },
	})
	p.Update("a rather long case name that wraps", time.Second, time.Minute)
	now = now.Add(10 * time.Millisecond)
	p.Update("too soon", time.Second, time.Minute)
	now = now.Add(time.Second)
	p.Update("short", 65*time.Second, 0)
	p.Clear()
	p.Clear()
	want := []string{"a rather long case name that…", "short · 1m5s", ""}
	if strings.Join(screen.shown, "|") != strings.Join(want, "|") {
		t.Errorf("the terminal showed %q, want %q", screen.shown, want)
	}
}

func TestProgressElsewhere(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := newProgress(Sys{Stderr: &out, Now: func() time.Time { return now }, Width: func() int { return 80 }})
	for range 100 {
		p.Update("case", now.Sub(time.Unix(0, 0)), 2*time.Hour+5*time.Minute)
		now = now.Add(time.Second)
	}
	p.Clear()
	want := "case · 30s · at most 2h5m left\ncase · 1m0s · at most 2h5m left\ncase · 1m30s · at most 2h5m left\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestClockTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 700 * time.Millisecond: "1s", 59*time.Minute + 59900*time.Millisecond: "1h0m",
	} {
		if got := clockTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// shown is a terminal that says when something stands on it.
type shown struct {
	fakeTerminal
	once func()
}

func (s *shown) Write(b []byte) (int, error) {
	n, err := s.fakeTerminal.Write(b)
	if len(s.line) > 0 {
		s.once()
	}
	return n, err
}

// TestAwaited: what takes long is reported on the terminal until it is done; an error passes; and whoever
// interrupts need not wait for it.
func TestAwaited(t *testing.T) {
	seen := make(chan struct{})
	screen := &shown{once: sync.OnceFunc(func() { close(seen) })}
	sys := Sys{Stderr: screen, StderrTerminal: true, Now: time.Now, Width: func() int { return 80 }}
	broken := errors.New("broken")
	got, err := awaited(t.Context(), sys, "reading r.jsonl", func() (int, error) { <-seen; return 7, broken })
	if got != 7 || err != broken {
		t.Errorf("%v, %v", got, err)
	}
	if !strings.HasPrefix(screen.shown[0], "reading r.jsonl · ") || len(screen.line) > 0 {
		t.Errorf("the terminal showed %q", screen.shown)
	}
	seen = make(chan struct{})
	screen = &shown{once: sync.OnceFunc(func() { close(seen) })}
	sys.Stderr = screen
	if _, err := awaitedSteps(t.Context(), sys, "looking", func(told *steps) (int, error) {
		told.step("paths")
		<-seen
		told.note("little memory\x1b")
		return 0, nil
	}); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(screen.shown[0], "looking: paths · ") || !slices.ContainsFunc(append(screen.shown, string(screen.line)), func(l string) bool { return strings.HasPrefix(l, "moonlap: little memory") }) {
		t.Errorf("the terminal showed %q", screen.shown)
	}
	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan struct{})
	defer close(forever)
	cancel()
	if _, err := awaited(ctx, sys, "", func() (int, error) { <-forever; return 0, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
