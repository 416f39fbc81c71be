package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/toplines"
)

// TestLive: at 80×24 what is wrong stands at the top; keys scroll, sort, open a worker, pause and quit.
func TestLive(t *testing.T) {
	worker := func(pid int, cpu float64, wait time.Duration) Row {
		return Row{Facts: Facts{PID: pid, Master: 1, CPU: cpu, Loop: &Loop{Most: wait},
			LuaVM: LuaVM{JIT: &JIT{Aborts: []Abort{{File: "a.lua", Line: 1, Reason: "x"}, {File: "a.lua", Line: 2, Reason: "x"}}}}}}
	}
	snapshot := Snapshot{Masters: []Master{}}
	for i := range 8 {
		snapshot.Workers = append(snapshot.Workers, worker(100+i, 0.1*float64(i), 0))
	}
	snapshot.Workers[3].Loop.Most = 300 * time.Millisecond
	var m tea.Model = live{}
	send := func(messages ...tea.Msg) []string {
		for _, msg := range messages {
			m, _ = m.Update(msg)
		}
		return strings.Split(ansi.Strip(m.View().Content), "\n")
	}
	key := func(text string) tea.Msg {
		if code, ok := map[string]rune{"tab": tea.KeyTab, "esc": tea.KeyEscape, "end": tea.KeyEnd, "down": tea.KeyDown}[text]; ok {
			return tea.KeyPressMsg{Code: code}
		}
		return tea.KeyPressMsg{Code: []rune(text)[0], Text: text}
	}
	screen := send(tea.WindowSizeMsg{Width: 80, Height: 24})
	if !strings.Contains(screen[0], "the first interval goes on") {
		t.Errorf("before the first interval: %q", screen)
	}
	screen = send(snapshot)
	for i, want := range []string{"moonlap watch", "  ! worker 103: an event waited 300 ms for the event loop", "    → moonlap profile --pid 103 --stalls 50ms"} {
		if !strings.HasPrefix(screen[i], want) {
			t.Errorf("line %d is %q, want %q", i, screen[i], want)
		}
	}
	if len(screen) != 24 || !strings.Contains(screen[23], "more lines") || !strings.Contains(screen[23], "sort: process ID") {
		t.Errorf("%d lines, the last %q", len(screen), screen[len(screen)-1])
	}
	first := func(screen []string) string {
		for i, line := range screen {
			if strings.HasPrefix(strings.Join(strings.Fields(line), " "), "worker CPU") {
				return strings.Fields(screen[i+1])[0]
			}
		}
		return "none"
	}
	if got := first(screen) + " " + first(send(key("s"))); got != "100 107" {
		t.Errorf("the first worker, sorted by process ID and by CPU: %s", got)
	}
	if screen = send(key("end")); strings.HasPrefix(screen[0], "moonlap watch") || !strings.Contains(screen[23], "↑↓ 0 more lines") {
		t.Errorf("the end: %q … %q", screen[0], screen[23])
	}
	screen = send(key("tab"))
	if all := strings.Join(screen, "\n"); first(screen) != "107" || strings.Contains(all, " 106 ") || strings.Contains(all, "not compiled in worker 100") {
		t.Errorf("the busiest worker alone:\n%s", all)
	}
	if screen = send(key("tab")); first(screen) != "106" {
		t.Errorf("the next worker: %s", first(screen))
	}
	gone := Snapshot{Workers: snapshot.Workers[:3]}
	if screen = send(key("p"), gone); first(screen) != "106" || !strings.Contains(screen[23], "paused") {
		t.Errorf("paused: %s, %q", first(screen), screen[23])
	}
	if screen = send(key("p"), gone); !strings.HasPrefix(screen[0], "worker 106 is gone") {
		t.Errorf("of a worker that is gone: %q", screen[0])
	}
	if screen = send(key("esc")); first(screen) != "102" {
		t.Errorf("all again: %s", first(screen))
	}
	if _, quit := m.Update(key("q")); quit == nil || fmt.Sprintf("%T", quit()) != "tea.QuitMsg" {
		t.Error("q does not quit")
	}
}

// TestLiveLines: Lua lines of which an interval has few samples are shown over the last ones; the snapshot itself stays as it is.
func TestLiveLines(t *testing.T) {
	var m tea.Model = live{recent: map[int][]*toplines.Result{}, width: 80, height: 24}
	own := &toplines.Result{Samples: 2, Lines: []toplines.Row{{Name: "f@a.lua:1", Self: 1, Total: 1}}, Functions: []toplines.Row{}}
	s := Snapshot{Workers: []Row{{Facts: Facts{PID: 101, Master: 1}}},
		Masters: []Master{{Shared: Shared{PID: 1}, Evidence: evidence.Set{toplines.Name: own}}}}
	for _, want := range []string{"Lua lines, of 2 samples of CPU time\n", "Lua lines, of 4 samples of CPU time in the last 2 intervals\n"} {
		m, _ = m.Update(s)
		if text := ansi.Strip(m.View().Content); !strings.Contains(text, want) || !strings.Contains(text, "50 %   50 %  f@a.lua:1") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if own.Samples != 2 || s.Masters[0].Evidence[toplines.Name] != evidence.Result(own) {
		t.Error("drawing changed what was observed")
	}
}
