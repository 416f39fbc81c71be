package capture

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/sample"
)

const ms, sec = time.Millisecond, time.Second

// A stage is a made-up worker, and what is captured of it.
type stage struct {
	*lookout
	tail     sample.Tail
	heap     uint64
	requests []ngxlua.InFlight

	noticed, captured []string
	pendings          []pending
}

func newStage(t *testing.T, conditions ...string) *stage {
	t.Helper()
	var all []Condition
	for _, text := range conditions {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	s := &stage{lookout: newLookout(all)}
	s.Keep, s.Gate = 10*sec, &gate{Limit: 1000}
	s.lookout.Heap = func() (uint64, error) { return s.heap, nil }
	s.lookout.InFlight = func() ([]ngxlua.InFlight, error) { return s.requests, nil }
	s.Noticed = func(e event) { s.noticed = append(s.noticed, e.Text()) }
	s.Captured = func(p pending, _ *sample.Tail) {
		s.captured, s.pendings = append(s.captured, p.Text()), append(s.pendings, p)
	}
	s.tail.Now, s.tail.Every = 10000*sec, 10*ms
	return s
}

// pass lets time pass, in which the worker does what the samples are.
func (s *stage) pass(d time.Duration, samples ...sample.Sample) {
	s.tail.Now += d
	s.tail.Samples = append(s.tail.Samples, samples...)
	s.tail.New = len(samples)
	s.Look(&s.tail, time.Unix(0, 0).Add(s.tail.Now))
	s.tail.New = 0
}

func (s *stage) want(t *testing.T, captured ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(captured, "\n"), strings.Join(s.captured, "\n")); diff != "" {
		t.Errorf("captured: (- want, + got)\n%s", diff)
	}
	s.captured = nil
}

func (s *stage) stall(start, length time.Duration) {
	s.tail.Stalls = append(s.tail.Stalls, sample.Stall{Start: start, Length: length})
}

func TestTurn(t *testing.T) {
	s := newStage(t, "turn>100ms")
	s.After = 2 * sec
	s.pass(250 * ms)
	s.stall(s.tail.Now, 100*ms) // not above
	s.stall(s.tail.Now+200*ms, 101*ms)
	s.pass(sec)
	s.pass(1900 * ms)
	s.want(t)
	s.pass(100 * ms)
	s.want(t, "a turn of the event loop took 101ms")
	s.pass(10 * sec)
	s.want(t)

	s.tail.Rest.Turn = s.tail.Now
	s.pass(50 * ms)
	s.pass(100 * ms) // noticed while it goes on; its end is waited for
	s.pass(5 * sec)
	s.want(t)
	s.stall(s.tail.Rest.Turn, 5160*ms)
	s.tail.Rest.Turn = 0
	s.pass(1900 * ms)
	s.want(t)
	s.pass(100 * ms)
	s.want(t, "a turn of the event loop took 5.16s")

	s.tail.Rest.Turn = s.tail.Now // one that never ends is waited for as long as its beginning is kept
	s.pass(sec)
	s.pass(8 * sec)
	s.want(t)
	s.pass(3 * sec)
	s.want(t, "a turn of the event loop took 12s, and went on")
	s.pass(60 * sec)
	s.want(t)
	want := []string{"a turn of the event loop took 101ms", "a turn of the event loop took 150ms, and went on", "a turn of the event loop took 1s, and went on"}
	if diff := cmp.Diff(want, s.noticed); diff != "" {
		t.Error(diff)
	}
}

func TestSleep(t *testing.T) {
	s := newStage(t, "sleep>50ms")
	asleep := func(d time.Duration) sample.Sample {
		return sample.Sample{Time: s.tail.Now, Lua: true, Asleep: true, Sleep: &sample.Sleep{For: d}}
	}
	other := asleep(80 * ms)
	other.Thread = true // a thread that may sleep
	s.pass(250*ms, asleep(50*ms), other, sample.Sample{Time: s.tail.Now})
	s.want(t)
	s.pass(250*ms, asleep(51*ms))
	s.want(t, "the worker was put to sleep for 51ms")
	long := asleep(0)
	s.tail.Asleep = &long
	s.pass(sec)
	s.want(t)
	long.Sleep = &sample.Sleep{For: 1100 * ms}
	s.tail.Asleep = nil
	s.pass(250*ms, long)
	s.want(t, "the worker was put to sleep for 1.1s")
	s.pass(sec)
	s.want(t)
}

func TestHeld(t *testing.T) {
	s := newStage(t, "held>100ms")
	turn := uint64(s.tail.Now / ms)
	runs := func(lua bool, turn uint64) sample.Sample {
		return sample.Sample{Time: s.tail.Now, Lua: lua, Turn: turn}
	}
	s.pass(110 * ms)
	s.pass(0, runs(true, turn))    // 100 ms for sure
	s.pass(100*ms, runs(false, 1)) // no Lua: the clock may be an old one
	s.pass(0, runs(true, 1))       // nor is it this machine's
	s.want(t)
	s.pass(50*ms, runs(true, turn))
	s.want(t)
	s.tail.Rest.Waits = true // the turn has ended
	s.pass(50*ms, runs(true, turn))
	s.tail.Rest.Waits = false
	s.want(t, "Lua held the event loop for at least 250ms")
	s.pass(sec)
	s.want(t)

	asleep := sample.Sample{Time: s.tail.Now, Lua: true, Turn: uint64(s.tail.Now / ms), Sleep: &sample.Sleep{}}
	s.tail.Asleep = &asleep
	s.pass(200 * ms)
	s.pass(20 * sec)
	s.want(t, "Lua held the event loop for at least 20.19s, and went on")
}

func TestRequest(t *testing.T) {
	s := newStage(t, "request>2s")
	old := func(uri string, age time.Duration, n int64) ngxlua.InFlight {
		return ngxlua.InFlight{Method: "GET", URI: uri, Age: age, Began: time.Unix(n, 0)}
	}
	s.requests = []ngxlua.InFlight{old("", 60*sec, 0), old("/young", 2*sec, 1)}
	s.pass(250 * ms)
	s.want(t)
	s.requests = []ngxlua.InFlight{old("/a", 4*sec, 2), old("/b", 3*sec, 3)}
	s.pass(250 * ms)
	s.pass(250 * ms)
	s.want(t, "a request was in flight for 4s")
	if r := s.pendings[0].Request; r.URI != "/a" || len(s.pendings[0].InFlight) != 2 {
		t.Errorf("%+v", r)
	}
	s.requests = append(s.requests, old("/b", 2500*ms, 4)) // another one
	s.pass(250 * ms)
	s.pass(250 * ms)
	s.want(t, "a request was in flight for 2.5s")
}

func TestShares(t *testing.T) {
	s := newStage(t, "cpu>95% for 2s", "gc>50% for 1s")
	collect := sample.Sample{Lua: true, State: luajit.Collect}
	computes := func(share float64, n int, samples ...sample.Sample) {
		for range n {
			s.tail.Rest.Computed += time.Duration(share * float64(250*ms))
			s.pass(250*ms, samples...)
		}
	}
	computes(1, 8)
	s.want(t) // it is not known for two seconds yet
	computes(1, 1)
	s.want(t, "the worker used 100 % of a processor for 2s")
	computes(1, 40)
	computes(0.5, 40)
	s.want(t)
	computes(1, 7)
	s.want(t)
	computes(1, 1)
	s.want(t, "the worker used 100 % of a processor for 2s")
	computes(0.1, 60)
	var many []sample.Sample
	for range 20 {
		many = append(many, collect)
	}
	computes(0.8, 8, many...)
	s.want(t, "Lua's garbage collector used 60 % of a processor for 1s")
}

func TestHeapGrows(t *testing.T) {
	s := newStage(t, "heap>200MB", "growth>150%")
	for range 100 { // up and down, as collectors let it
		s.heap = 50e6 + (s.heap+1e6)%50e6
		s.pass(250 * ms)
	}
	s.want(t)
	s.heap = 190e6
	s.pass(250 * ms)
	s.want(t)
	s.heap = 255e6
	s.pass(250 * ms)
	if len(s.captured) != 1 || len(s.pendings[0].Also) != 1 || s.pendings[0].Text() != "Lua's heap reached 255 MB" ||
		s.pendings[0].Also[0].Text() != "Lua's heap grew by 211 %, from 82.0 MB to 255 MB" {
		t.Errorf("%q, %+v", s.captured, s.pendings[0].Also)
	}
	s.captured = nil
	for range 100 { // it stays
		s.pass(250 * ms)
	}
	s.want(t)
}

func TestEnded(t *testing.T) {
	for _, c := range []struct {
		end  process.End
		want string
	}{
		{process.End{Known: true}, ""},
		{process.End{Known: true, Status: 2}, "the worker exited with status 2"},
		{process.End{Known: true, Signal: "SIGSEGV"}, "the worker was ended by SIGSEGV"},
		{process.End{}, "the worker ended; how, only its parent knows: see nginx's error log"},
	} {
		s := newStage(t, "ended")
		s.After = 2 * sec
		s.requests = []ngxlua.InFlight{{URI: "/crash", Age: sec}}
		s.pass(sec)
		s.lookout.InFlight = func() ([]ngxlua.InFlight, error) { return nil, errors.New("it is gone") }
		s.tail.End, s.tail.Last = &c.end, true
		s.pass(sec)
		if c.want == "" {
			s.want(t)
			continue
		}
		s.want(t, c.want)
		if in := s.pendings[0].InFlight; len(in) != 1 || in[0].URI != "/crash" {
			t.Errorf("in flight: %+v", in)
		}
	}
}

// TestInterrupted: what is being waited for is captured when nothing more comes.
func TestInterrupted(t *testing.T) {
	s := newStage(t, "turn>100ms")
	s.After = 60 * sec
	s.stall(s.tail.Now, sec)
	s.pass(sec)
	s.want(t)
	s.tail.Last = true
	s.pass(sec)
	s.want(t, "a turn of the event loop took 1s")
}

// TestOnce: each turn above the threshold is reported once: on its own, with another one, or as not let through.
func TestOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newStage(t, "turn>100ms")
		s.After = time.Duration(rapid.IntRange(0, 3000).Draw(r, "after")) * ms
		s.Gate = &gate{Pause: time.Duration(rapid.IntRange(0, 5000).Draw(r, "pause")) * ms, Limit: rapid.IntRange(1, 10).Draw(r, "limit")}
		long, at := 0, s.tail.Now
		for range rapid.IntRange(0, 30).Draw(r, "turns") {
			at += time.Duration(rapid.IntRange(1, 2000).Draw(r, "apart")) * ms
			length := time.Duration(rapid.IntRange(1, 400).Draw(r, "length")) * ms
			if length > 100*ms {
				long++
			}
			s.stall(at, length)
			at += length
			s.pass(at - s.tail.Now)
		}
		for range 20 {
			s.pass(sec)
		}
		told := s.Gate.Missed()
		for _, p := range s.pendings {
			told += 1 + len(p.Also) + p.More
		}
		if told != long || len(s.pendings) > s.Gate.Limit {
			r.Errorf("%d told of %d; %d captured", told, long, len(s.pendings))
		}
	})
}

func TestGate(t *testing.T) {
	g := &gate{Pause: 10 * sec, Limit: 3}
	for _, step := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {9 * sec, false}, {10 * sec, true}, {11 * sec, false}, {100 * sec, true}, {200 * sec, false}} {
		if got := g.Pass(step.at); got != step.want {
			t.Errorf("at %v: %v", step.at, got)
		}
	}
	if n := g.Missed(); n != 3 || g.Missed() != 0 {
		t.Errorf("%d missed", n)
	}
	g.Failed()
	if !g.Pass(300*sec) || g.Pass(400*sec) {
		t.Error("a capture that failed counts")
	}
}
