package sequential

import (
	"maps"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
)

// Turns are comparisons of cases that take turns, round by round; [Rows] says which. While
// the run goes on, hand over what each process took, look after every round, and ask which
// cases are still needed. It is not safe for concurrent use.
type Turns struct {
	// QuietWeight is how much more a pair of quiet moments weighs than one that was disturbed; 1: all weigh the same.
	QuietWeight int

	judge   Judge
	cases   []record.Case
	located map[int]map[int]float64 // by case, by round: what its process took
	slowed  map[int]map[int]bool    // the same: something slowed the machine meanwhile
	failed  map[int]bool            // by case
	closed  map[int]bool
	rounds  int
	rows    []*openRow
}

// An openRow is a comparison while the run goes on.
type openRow struct {
	Row
	pairs   []pair
	times   []pair // the same as they are, not as logarithms
	decided bool
}

// NewTurns plans the comparisons of cases. The level of the rule is that of all of them
// together; without a rule there are none.
func NewTurns(rule *record.Comparing, cases []record.Case) *Turns {
	t := &Turns{QuietWeight: quietWeight, cases: cases, located: map[int]map[int]float64{}, slowed: map[int]map[int]bool{}, failed: map[int]bool{}, closed: map[int]bool{}}
	for _, c := range cases {
		t.located[c.Case], t.slowed[c.Case] = map[int]float64{}, map[int]bool{}
	}
	if rule != nil {
		t.judge = Judge{Comparing: *rule, Rows: len(Rows(cases))}
		t.pair()
	}
	return t
}

// pair makes the rows. Of a single side, a case that failed is compared with nothing, and
// the next stands in for the first.
func (t *Turns) pair() {
	cases := t.cases
	if !slices.ContainsFunc(cases, func(c record.Case) bool { return c.Side != cases[0].Side }) {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c record.Case) bool { return t.failed[c.Case] })
	}
	t.rows = nil
	for _, r := range Rows(cases) {
		t.rows = append(t.rows, &openRow{Row: r})
	}
}

// Add takes what the process of a case took in a round: ns, per call or in all. A process
// that does not count adds nothing.
func (t *Turns) Add(number, round int, ns float64) { t.located[number][round] = ns }

// Disturbed says that something slowed the machine beside the process of a case in a round, as yardsticks tell. Its pair
// weighs less.
func (t *Turns) Disturbed(number, round int) { t.slowed[number][round] = true }

// append adds the pair of a round to lists of pairs and of their times.
func (t *Turns) append(r Row, round int, pairs, times *[]pair, a, b float64) {
	p, q := pairOf(a, b), pairAt(a, b)
	p.weight = t.QuietWeight
	if t.slowed[r.A.Case][round] || t.slowed[r.B.Case][round] {
		p.weight = 1
	}
	q.weight = p.weight
	*pairs, *times = append(*pairs, p), append(*times, q)
}

// Look judges the rounds so far: call it after every one.
func (t *Turns) Look(round int) {
	t.rounds = round + 1
	for _, r := range t.rows {
		t.look(r, round)
	}
}

func (t *Turns) look(r *openRow, round int) {
	a, okA := t.located[r.A.Case][round]
	b, okB := t.located[r.B.Case][round]
	if !okA || !okB || r.decided {
		return
	}
	t.append(r.Row, round, &r.pairs, &r.times, a, b)
	if t.judge.Processes == 0 && isLook(len(r.pairs)) {
		if tooManyAtZero(r.pairs) {
			_, r.decided = t.judge.byDifference(r.times, false)
		} else {
			r.decided = t.judge.decided(t.judge.look(r.pairs, false))
		}
	}
}

// Close says that a case gets no more processes: its time is spent.
func (t *Turns) Close(number int) { t.closed[number] = true }

// Fail closes a case that failed. Of a single side it is compared with nothing then; where
// it was the one that all others are compared with, the next stands in for it from the
// first round on.
func (t *Turns) Fail(number int) {
	if t.failed[number] {
		return
	}
	t.failed[number], t.closed[number] = true, true
	if len(t.rows) == 0 || t.rows[0].A.Side != t.rows[0].B.Side {
		return
	}
	t.pair()
	for _, r := range t.rows {
		for round := range t.rounds {
			t.look(r, round)
		}
	}
}

// Open reports whether a comparison of a case needs more rounds, and whether it has one at all.
func (t *Turns) Open(number int) (open, compared bool) {
	for _, r := range t.rows {
		if r.A.Case != number && r.B.Case != number {
			continue
		}
		compared = true
		open = open || !r.decided && !t.closed[r.A.Case] && !t.closed[r.B.Case]
	}
	return open, compared
}

// JudgeTurns compares the cases of a record whose run took turns, by a rule: see [Judge].
// located tells what the processes of a case took that count, by round, and of which rounds something slowed the machine.
func JudgeTurns(rec *record.Record, rule record.Comparing,
	located func(record.Case) (ns map[int]float64, slowed map[int]bool)) []record.Comparison {
	t := NewTurns(&rule, rec.Cases)
	for _, c := range rec.Cases {
		t.located[c.Case], t.slowed[c.Case] = located(c)
		t.failed[c.Case] = len(rec.FaultsOf(c.Case)) > 0
	}
	t.pair()
	comparisons := []record.Comparison{}
	for _, r := range t.rows {
		c := t.verdict(r.Row, rec.Complete())
		c.A, c.B = r.A.Name, r.B.Name
		comparisons = append(comparisons, c)
	}
	return comparisons
}

func (t *Turns) verdict(r Row, ended bool) record.Comparison {
	var pairs, times []pair
	a, b := t.located[r.A.Case], t.located[r.B.Case]
	for _, round := range slices.Sorted(maps.Keys(a)) {
		if nsB, ok := b[round]; ok {
			t.append(r, round, &pairs, &times, a[round], nsB)
		}
	}
	c := t.judge.follow(pairs, ended)
	t.judge.addDifference(&c, times, ended)
	return c
}
