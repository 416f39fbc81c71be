package modes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/stat/stattest"
)

func at20(ns ...float64) []Located {
	ps := make([]Located, len(ns))
	for i, x := range ns {
		ps[i] = Located{NS: x, Floor: x, PM: 0.02}
	}
	return ps
}

func TestFindModes(t *testing.T) {
	for _, c := range []struct {
		name string
		ps   []Located
		want Modes
	}{
		{"nothing", nil, Modes{Of: []int{}}},
		{"one process", at20(5), Modes{Of: []int{0}, Count: 1}},
		{"two processes", at20(5, 9), Modes{Of: []int{0, 0}, Count: 1}},
		{"all equal", at20(5, 5, 5, 5, 5, 5), Modes{Of: []int{0, 0, 0, 0, 0, 0}, Count: 1}},
		{"two modes, slow first", at20(9, 5, 5.02, 9.05, 5.01, 5.03, 5.02, 5),
			Modes{Of: []int{1, 0, 0, 1, 0, 0, 0, 0}, Count: 2}},
		{"three modes", at20(5, 5.02, 5.01, 5.03, 7, 7.02, 7.01, 9, 9.02), Modes{Of: []int{0, 0, 0, 0, 1, 1, 1, 2, 2}, Count: 3}},
		{"one of few may be a mode", at20(5, 5.02, 5.01, 5.03, 5.02, 9), Modes{Of: []int{0, 0, 0, 0, 0, 1}, Count: 2}},
		{"one of many is alone", at20(append(stattest.Around(11, 5), 9)...),
			Modes{Of: make([]int, 12), Count: 1, Alone: []int{11}}},
		{"slower by disturbance only", []Located{
			{NS: 5, Floor: 5, PM: 0.02}, {NS: 5, Floor: 5.01, PM: 0.02}, {NS: 5.1, Floor: 5.02, PM: 0.02},
			{NS: 8, Floor: 5.01, PM: 0.02}, {NS: 8.1, Floor: 5, PM: 0.02}, {NS: 8, Floor: 5.02, PM: 0.02},
		}, Modes{Of: make([]int, 6), Count: 1}},
		{"within the noise of a process", []Located{
			{NS: 5, Floor: 5, PM: 1}, {NS: 5, Floor: 5, PM: 1}, {NS: 5, Floor: 5, PM: 1},
			{NS: 7, Floor: 7, PM: 1}, {NS: 7, Floor: 7, PM: 1}, {NS: 7, Floor: 7, PM: 1},
		}, Modes{Of: make([]int, 6), Count: 1}},
		{"around zero", at20(0, 0.01, 0.02, 0.01, 0.06, 0.07, 0.06), Modes{Of: make([]int, 7), Count: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FindModes(c.ps)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindModesIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.SliceOfN(rapid.Float64Range(1, 20), 3, 20).Draw(t, "ns")
		m := FindModes(at20(ns...))
		modes := map[float64]int{}
		for i, x := range ns {
			modes[x] = m.Of[i]
		}
		shuffled := rapid.Permutation(ns).Draw(t, "order")
		again := FindModes(at20(shuffled...))
		for i, x := range shuffled {
			if again.Of[i] != modes[x] {
				t.Fatalf("%v is in mode %d, and in %d in another order", x, modes[x], again.Of[i])
			}
		}
	})
}

func TestProcessesToSee(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  int
	}{{0.5, 5}, {0.25, 11}, {1.0 / 6, 17}, {0.1, 29}, {0.05, 59}, {0, 0}, {1, 0}} {
		if got := ProcessesToSee(c.share, 0.95); got != c.want {
			t.Errorf("ProcessesToSee(%v) = %d, want %d", c.share, got, c.want)
		}
	}
}
