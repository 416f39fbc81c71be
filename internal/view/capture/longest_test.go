package capture

import (
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/sample"
)

// TestLongest: who captured nothing is told what came nearest, and each condition that is named takes in what was seen.
func TestLongest(t *testing.T) {
	for _, tt := range []struct {
		longest longest
		want    string
	}{
		{longest{}, "nothing met a condition, or came near one"},
		{longest{Slept: 900 * time.Microsecond, Held: 19 * ms}, "nothing met a condition, or came near one"},
		{longest{Slept: 52*ms + 1234*time.Microsecond}, "nothing met a condition: the longest sleep took 53.2ms. --when 'sleep>50ms' would have captured it"},
		{longest{Slept: 50 * ms, Held: 1204 * ms}, "nothing met a condition: the longest sleep took 50ms; Lua held the event loop for up to 1.2s. " +
			"--when 'sleep>20ms' --when 'held>1s' would have captured it"},
	} {
		if got := tt.longest.Text(); got != tt.want {
			t.Errorf("%+v:\n%q, want\n%q", tt.longest, got, tt.want)
		}
	}
	for d := time.Millisecond; d < time.Minute; d += d/3 + 7 {
		if below := roundBelow(d); below >= d || d > ms && below < d*2/5 {
			t.Errorf("%v is not close below %v", below, d)
		}
	}
}

// TestLookoutKeepsTheLongest: of the samples of a tail, but for those of other threads.
func TestLookoutKeepsTheLongest(t *testing.T) {
	s := newStage(t, "sleep>200ms")
	s.pass(sec, sample.Sample{Time: s.tail.Now, Sleep: &sample.Sleep{For: 52 * ms}},
		sample.Sample{Time: s.tail.Now, Thread: true, Sleep: &sample.Sleep{For: sec}})
	s.pass(sec)
	if got := s.Longest(); got.Slept != 52*ms || len(s.noticed) > 0 {
		t.Errorf("%+v, noticed %v", got, s.noticed)
	}
	var all longest
	all.Merge(longest{Slept: 1, Held: 5})
	all.Merge(longest{Slept: 3, Held: 4})
	if (all != longest{Slept: 3, Held: 5}) {
		t.Errorf("%+v", all)
	}
}
