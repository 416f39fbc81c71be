package host

import (
	"math"
	"testing"
	"time"

	"github.com/moonlap/moonlap/lap"
)

// looks of a machine that something slows, by times, in these.
func looks(n int, slow func(i int) float64) []Timing {
	list := make([]Timing, n)
	for i := range list {
		list[i] = Timing{At: time.Unix(int64(i), 0), Timing: lap.Timing{Core: 1430 * slow(i), Cache: 1060 * slow(i)}}
	}
	return list
}

func TestSpeedOf(t *testing.T) {
	list := looks(100, func(i int) float64 {
		if i < 30 {
			return 1.4
		}
		return 1.005
	})
	best := Best(list, nil)
	if math.Abs(best.Core-1437.15) > 0.01 {
		t.Errorf("best %+v", best)
	}
	s, ok := SpeedOf(list, best)
	if !ok || s.Timings != 100 || s.Quiet != 0.7 || math.Abs(s.Slower-0.393) > 0.01 {
		t.Errorf("%t, %+v", ok, s)
	}
	if s, _ := SpeedOf(list, Best(list, map[string]float64{"core": 1000})); s.Quiet != 0 {
		t.Errorf("%+v on a machine that was seen to be faster", s)
	}
	if _, ok := SpeedOf(list[:4], best); ok {
		t.Error("four looks tell nothing")
	}
}

func TestSampler(t *testing.T) {
	s := Start()
	if s == nil {
		var none *Sampler
		none.Stop()
		if none.Since(time.Time{}) != nil {
			t.Error("looks of nobody")
		}
		t.Skip(lap.ErrNoYardsticks)
	}
	for len(s.Since(time.Time{})) < 3 {
		time.Sleep(every)
	}
	s.Stop()
	all := s.Since(time.Time{})
	for i, l := range all {
		if !(l.Core > 0 && l.Cache > 0) || i > 0 && !l.At.After(all[i-1].At) {
			t.Errorf("look %d: %+v", i, l)
		}
	}
	if n := len(s.Since(all[1].At)); n != len(all)-1 {
		t.Errorf("%d looks from the second on, of %d", n, len(all))
	}
}

func TestSamplerKeepsSoMany(t *testing.T) {
	s := &Sampler{}
	for _, l := range looks(kept+10, func(int) float64 { return 1 }) {
		s.add(l)
	}
	if n := len(s.timings); n > kept || !s.timings[n-1].At.Equal(time.Unix(kept+9, 0)) {
		t.Errorf("%d looks, the last of %s", n, s.timings[n-1].At)
	}
}
