package sample

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// TestForget: exactly what ended before a time is forgotten, and what there is no room for.
func TestForget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tail Tail
		at := time.Duration(0)
		for range rapid.IntRange(0, 50).Draw(t, "samples") {
			at += time.Duration(rapid.IntRange(0, 3).Draw(t, "apart"))
			s := Sample{Time: at}
			if slept := time.Duration(rapid.IntRange(0, 5).Draw(t, "slept")); slept > 0 {
				s.Sleep = &Sleep{For: slept - slept/2, Queued: slept / 2}
				s.Time -= slept
			}
			tail.Samples = append(tail.Samples, s)
			tail.Stalls = append(tail.Stalls, Stall{Start: s.Time, Length: s.Until() - s.Time})
		}
		tail.New = rapid.IntRange(0, len(tail.Samples)).Draw(t, "new")
		before := time.Duration(rapid.IntRange(0, 100).Draw(t, "before"))
		left, fresh := 0, tail.New
		for _, s := range tail.Samples {
			if s.Until() >= before {
				left++
			}
		}
		tail.forget(before)
		if len(tail.Samples) != left || len(tail.Stalls) != left || tail.New != min(fresh, left) || tail.Since != before {
			t.Errorf("%d samples, %d stalls, %d new, since %v; want %d since %v", len(tail.Samples), len(tail.Stalls), tail.New, tail.Since, left, before)
		}
		if slices.ContainsFunc(tail.Samples, func(s Sample) bool { return s.Until() < before }) {
			t.Error("an old one is left")
		}
	})
	var tail Tail
	for i := range mostInTail + 10 {
		tail.Samples = append(tail.Samples, Sample{Time: time.Duration(i)})
	}
	tail.New = 20
	tail.forget(3)
	if len(tail.Samples) != mostInTail || tail.Samples[0].Time != 10 || tail.Since != 9 || tail.New != 20 {
		t.Errorf("%d samples from %v on, whole since %v, %d new", len(tail.Samples), tail.Samples[0].Time, tail.Since, tail.New)
	}
}

// TestAsleepNow: a sleep whose end has not been heard of yet is none that goes on.
func TestAsleepNow(t *testing.T) {
	d := &diary{asleep: &Sample{Time: time.Second}}
	for since, want := range map[time.Duration]*Sample{
		0: nil, time.Second - time.Microsecond: d.asleep, time.Second + time.Millisecond: d.asleep, time.Second + 50*time.Millisecond: nil,
	} {
		if got := d.asleepNow(probe.Rest{Asleep: since}); got != want {
			t.Errorf("asleep since %v: %v", since, got)
		}
	}
	if got := new(diary).asleepNow(probe.Rest{Asleep: time.Second}); got != nil {
		t.Errorf("nothing is known: %v", got)
	}
}

// TestTail: what a worker does is reported again and again, and how it ended.
func TestTail(t *testing.T) {
	s := sampler(t)
	pid, client := nginx(t)
	w := open(t, pid)
	stop := nginxtest.Request(t, client, "/usleep")
	defer stop()
	calls, slept := 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	until := time.Now().Add(time.Minute)
	err := w.Tail(ctx, s, Wants{Hz: 99}, 500*time.Millisecond, func(tail *Tail) {
		calls++
		for _, x := range tail.Samples[len(tail.Samples)-tail.New:] {
			if x.Sleep != nil && x.Request.URI == "/usleep" && has(x.Stack, []string{"usleep", "main"}) {
				slept++
			}
		}
		for _, x := range tail.Samples {
			if x.Until() < tail.Now-500*time.Millisecond {
				t.Errorf("a sample is kept that ended %v before", tail.Now-x.Until())
			}
		}
		if calls > 5 && slept > 5 || time.Now().After(until) {
			cancel()
		}
		if tail.Last != (ctx.Err() != nil) && tail.End != nil {
			t.Errorf("the last: %v, ended: %v", tail.Last, tail.End)
		}
	})
	if err != nil || calls < 5 || slept < 5 {
		t.Errorf("%d calls, %d sleeps, %v", calls, slept, err)
	}
	p, _ := os.FindProcess(pid)
	var last Tail
	err = w.Tail(t.Context(), s, Wants{Hz: 99}, time.Second, func(tail *Tail) {
		last = *tail
		p.Kill()
	})
	if want := (process.End{Known: true, Signal: "SIGKILL"}); err != nil || !last.Last || last.End == nil || last.End.Known && *last.End != want {
		t.Errorf("killed: %v, %+v", err, last.End)
	}
}
