package watch

import (
	"slices"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// TestTurnWait follows a worker from moment to moment, in milliseconds.
func TestTurnWait(t *testing.T) {
	type moment struct {
		now, clock uint64
		does       doing
		lua        bool
		want       time.Duration
	}
	for name, moments := range map[string][]moment{
		"idle":                      {{1000, 400, polling, false, 0}, {1010, 400, polling, false, 0}},
		"woken, but not yet to run": {{1000, 400, polling, false, 0}, {1010, 400, onCPU, false, 10}, {1020, 1018, onCPU, false, 2}},
		"first look at a long turn": {{1000, 400, onCPU, true, 600}, {1010, 400, onCPU, true, 610}},
		"first look, not certain":   {{1000, 400, onCPU, false, 0}, {1010, 400, onCPU, false, 10}},
		"blocked by Lua":            {{1000, 990, onCPU, true, 10}, {1100, 990, asleep, true, 110}, {1110, 1108, polling, false, 0}},
		"blocked by C":              {{1000, 900, asleep, false, 100}},
		"a poll of Lua's":           {{1000, 900, polling, true, 100}},
		"turn after turn":           {{1000, 996, onCPU, true, 4}, {1010, 1008, onCPU, true, 2}, {1020, 1020, onCPU, false, 0}},
		"a clock that is ahead":     {{1000, 1004, onCPU, true, 0}},
	} {
		var turn turn
		for i, m := range moments {
			if got := turn.wait(m.now, m.clock, m.does, m.lua); got != m.want*time.Millisecond {
				t.Errorf("%s, moment %d: %v, want %v", name, i, got, m.want*time.Millisecond)
			}
		}
	}
}

func TestDoes(t *testing.T) {
	for line, want := range map[string]doing{
		"running\n": onCPU,
		"232 0x8 0x55 0x200 0xffffffffffffffff 0x0 0x0 0x7ffd 0x7f\n": polling,
		"61 0xffffffffffffffff 0x7ffd 0x0 0x0 0x0 0x0 0x7ffd 0x7f\n":  asleep,
		"-1 0x7ffd 0x7f\n": asleep,
		"":                 asleep,
	} {
		if got := does(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// TestLoopIsMeasured checks the estimate on made-up turns: events that come at random moments wait as
// long as the samples say.
func TestLoopIsMeasured(t *testing.T) {
	// Turns of 30 and 10 ms in turn, with 60 ms of waiting for events after each.
	lengths := []uint64{30, 10}
	begin, end := []uint64{}, []uint64{}
	at := uint64(1000)
	for i := range 10_000 {
		begin = append(begin, at)
		end = append(end, at+lengths[i%2])
		at += lengths[i%2] + 60
	}
	var turn turn
	var sampled, met float64
	i, samples := 0, 0
	for now := uint64(1000); now < at; now += 7 {
		for i+1 < len(begin) && begin[i+1] <= now {
			i++
		}
		does := polling
		if now < end[i] {
			does = onCPU
			met += float64(end[i] - now) // what an event waits that comes now
		}
		sampled += float64(turn.wait(now, begin[i], does, does == onCPU)) / float64(time.Millisecond)
		samples++
	}
	sampled, met = sampled/float64(samples), met/float64(samples)
	if sampled < 0.9*met || sampled > 1.1*met {
		t.Errorf("events wait %.3f ms, the samples say %.3f ms", met, sampled)
	}
}

// TestReadLoop: an event waits for the loop while a request computes, and does not while it sleeps.
func TestReadLoop(t *testing.T) {
	pid, client := workertest.App(t, nginxtest.Conf{})
	w := workertest.Open(t, pid)
	idle := readFor(t.Context(), w, 300*time.Millisecond)
	if idle.Loop.Err != nil || len(idle.Loop.Wait) == 0 || slices.Min(idle.Loop.Wait) != 0 {
		t.Errorf("nothing is asked of it: %+v", idle.Loop)
	}
	nginxtest.Begin(t, client, "/endless")
	nginxtest.Await(t, "a turn that does not end", true, func() (bool, error) {
		g := readFor(t.Context(), w, 300*time.Millisecond)
		waits := g.Loop.Wait
		return len(waits) > 3 && g.Loop.Turns == 1 && slices.IsSorted(waits) && waits[0] > 100*time.Millisecond &&
			g.Phases["content"] > 0 && g.Requests["/endless"] > 0, g.Loop.Err
	})
}
