package bench

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// comparing is a run of one side with cases a, b, c …, whose processes are made up.
func comparing(t *testing.T, cases int, compare bool) *run {
	t.Helper()
	r := &run{
		budget: time.Minute, limits: ofCases, random: rand.New(rand.NewPCG(1, 2)),
		Measurement: Measurement{Sides: []Side{{Options: Options{Precision: 0.01}}}},
	}
	if compare {
		rule := sequential.DefaultComparing()
		r.Comparing = &rule
	}
	var all []*state
	for i := range cases {
		all = append(all, &state{
			planned: planned{Case: record.Case{Case: i, Name: string(rune('a' + i))}},
			options: &r.Sides[0].Options,
		})
	}
	if err := r.group(all); err != nil {
		t.Fatal(err)
	}
	return r
}

// play runs rounds of the first group until it is done or most are over, and returns how
// many there were. take is what a process of a case takes; 0: it fails; below 0: it had no quiet moment.
func (r *run) play(most int, take func(name string, round int) float64) int {
	g := r.groups[0]
	for round := range most {
		if g.done() {
			return round
		}
		g.turn(r.random, round)
		for _, s := range g.order {
			if s.done {
				continue
			}
			s.processes++
			s.spent += time.Second
			switch ns := take(s.Name, round); {
			case ns > 0:
				s.located[0][round], s.quiet[round] = ns, ns
			case ns < 0:
				s.located[0][round] = -ns
			default:
				s.failed = true
			}
		}
		r.look(round)
	}
	return most
}

func processes(g *group) (counts []int) {
	for _, s := range g.states {
		counts = append(counts, s.processes)
	}
	return counts
}

// noisy makes each process of a case take its level, give or take 1 %.
func noisy(levels map[string]float64) func(string, int) float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	return func(name string, _ int) float64 { return levels[name] * (1 + 0.01*rng.NormFloat64()) }
}

// What is decided leaves the rounds; the first stays as long as another is open.
func TestComparisonsEndWhenDecided(t *testing.T) {
	r := comparing(t, 3, true)
	rounds := r.play(100, noisy(map[string]float64{"a": 20, "b": 40, "c": 20.4}))
	n := processes(r.groups[0])
	if n[1] >= n[2] || n[0] != n[2] || n[0] != rounds || rounds >= 60 {
		t.Errorf("%v processes in %d rounds", n, rounds)
	}
}

// Where nothing is decided a comparison ends when both have spent what each may.
func TestComparisonsEndAtTheirBudget(t *testing.T) {
	r := comparing(t, 2, true)
	r.budget = 9 * time.Second
	if rounds := r.play(100, noisy(map[string]float64{"a": 20, "b": 20.05})); rounds != 9 {
		t.Errorf("%d rounds of a second a process", rounds)
	}
	r = comparing(t, 2, true)
	r.count = 5
	if rounds := r.play(100, noisy(map[string]float64{"a": 20, "b": 40})); rounds != 5 {
		t.Errorf("%d rounds, want the number that was asked for", rounds)
	}
}

// When the first fails, the next that does not stands in for it, also for what was
// measured before; and who remains alone goes on until its own figure is good enough.
func TestComparisonsGoOnWithoutTheFirst(t *testing.T) {
	for _, failing := range []int{0, 3} {
		r := comparing(t, 3, true)
		levels := noisy(map[string]float64{"a": 20, "b": 20, "c": 40})
		rounds := r.play(100, func(name string, round int) float64 {
			if name == "a" && round == failing {
				return 0
			}
			return levels(name, round)
		})
		g := r.groups[0]
		_, a := r.open(0)
		_, b := r.open(1)
		if a || !b || rounds >= 60 {
			t.Errorf("failed in round %d: compared %v, %v, after %d rounds", failing, a, b, rounds)
		}
		if n := processes(g); n[0] != failing+1 || n[1] != rounds || n[2] != rounds {
			t.Errorf("failed in round %d: %v processes", failing, n)
		}
	}
	for _, left := range []string{"a", "b"} {
		r := comparing(t, 2, true)
		levels := noisy(map[string]float64{left: 20})
		if rounds := r.play(100, func(name string, _ int) float64 { return levels(name, 0) }); rounds < ofCases.least || rounds > 60 {
			t.Errorf("%s, the one that is left, had %d rounds", left, rounds)
		}
	}
}

// Without a rule, and with a single case, nothing is compared.
func TestAlone(t *testing.T) {
	for _, r := range []*run{comparing(t, 3, false), comparing(t, 1, true)} {
		if slices.ContainsFunc(r.groups, func(g *group) bool { return len(g.states) != 1 }) {
			t.Errorf("%d groups, of %d cases the first", len(r.groups), len(r.groups[0].states))
		}
		if rounds := r.play(100, noisy(map[string]float64{"a": 20})); rounds < ofCases.least || rounds > 60 {
			t.Errorf("%d rounds", rounds)
		}
	}
}

// Every second round is the reverse of the one before.
func TestTurns(t *testing.T) {
	r := comparing(t, 4, true)
	g := r.groups[0]
	for round := range 6 {
		before := slices.Clone(g.order)
		g.turn(r.random, round)
		slices.Reverse(before)
		if round%2 == 1 && !slices.Equal(before, g.order) {
			t.Errorf("round %d is not the reverse of the one before", round)
		}
	}
}

// While too few processes had quiet moments a case gets more time, up to what --wait-quiet allows.
func TestWaitsForQuiet(t *testing.T) {
	for _, c := range []struct {
		wait   time.Duration
		quiet  func(round int) bool
		rounds int
	}{
		{0, func(int) bool { return false }, 60},
		{30 * time.Second, func(int) bool { return false }, 90},
		{30 * time.Second, func(round int) bool { return round >= 70 }, 76},
		{30 * time.Second, func(int) bool { return true }, 60},
	} {
		r := comparing(t, 1, false)
		r.Sides[0].Options = Options{Precision: 1e-9, WaitQuiet: c.wait}
		s := r.groups[0].states[0]
		got := r.play(200, func(_ string, round int) float64 {
			if c.quiet(round) {
				return 100 + float64(round%7)
			}
			return -1
		})
		if got != c.rounds || s.failed {
			t.Errorf("waiting %v: %d rounds, want %d", c.wait, got, c.rounds)
		}
	}
}
