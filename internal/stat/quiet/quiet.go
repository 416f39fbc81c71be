// Package quiet tells the batches that ran while nothing disturbed the machine from the others, by yardsticks alone.
//
// A yardstick is a fixed piece of work, timed before and after a batch. A neighbour on the host who shares the core
// slows it, and leaves no trace in any counter of the guest. As the batch's own time has no say, what is chosen is a
// fair sample of what the case does in quiet moments.
package quiet

import (
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// near says for each kind that judges how far from its best it may be in a quiet moment. The kind "memory" does not
// judge: it varies by 20 % on an idle machine, and hardly goes with what cases take (benchmarks/truth/quiet).
var near = map[string]float64{"core": 1.03, "cache": 1.06}

// SameSpeed is how far the bests of a yardstick lie apart on one machine, as a share.
const SameSpeed = 0.03

// possible is how much of its best a yardstick takes at least, where a faster machine is not yet known. What takes less is an
// error of the clock, as when a virtual machine is suspended and its counter set back: it says nothing good of the moment.
const possible = 0.9

// A Best is the time of each yardstick when nothing disturbs it, in ns, by kind. The zero value knows none.
type Best map[string]float64

const (
	lowest    = 0.02 // quantile of a process's times: below it lie errors of the clock
	leastSeen = 50   // times that have one: of a process, or of as many as it takes
)

// A Tracker finds the best while a run goes on. The zero value knows of nothing before the run.
type Tracker struct {
	Before map[string]float64   // the best seen on the machine before the run, by kind
	lows   map[string][]float64 // of each process
	few    map[string][]float64 // times of processes that had few, as whole commands have two each
}

// Add takes what a process said.
func (t *Tracker) Add(p *record.ProcessRecord) {
	if t.lows == nil {
		t.lows, t.few = map[string][]float64{}, map[string][]float64{}
	}
	for kind := range near {
		times := timesOf(p, kind)
		if len(times) < leastSeen {
			t.few[kind] = append(t.few[kind], times...)
			if times = t.few[kind]; len(times) < leastSeen {
				continue
			}
			t.few[kind] = nil
		}
		t.lows[kind] = append(t.lows[kind], estimate.Quantile(times, lowest))
	}
}

// Seen is the best of the run alone. Of its processes the second best counts, so that one whose clock was wrong says
// nothing.
func (t *Tracker) Seen() Best {
	best := Best{}
	for kind, lows := range t.lows {
		slices.Sort(lows)
		best[kind] = lows[min(1, len(lows)-1)]
	}
	return best
}

// Best is the best of the run and before it.
func (t *Tracker) Best() Best {
	best := t.Seen()
	for kind := range near {
		if before := t.Before[kind]; before > 0 && (best[kind] == 0 || before < best[kind]) {
			best[kind] = before
		}
	}
	return best
}

// Along is the best that was known when each process had ended, so that who judges a run while it goes on, and who judges
// its record again, judge alike.
func Along(rec *record.Record) map[*record.ProcessRecord]Best {
	t := &Tracker{Before: rec.Run.Yardsticks}
	known := map[*record.ProcessRecord]Best{}
	for _, p := range rec.Processes {
		t.Add(p)
		known[p] = t.Best()
	}
	return known
}

// BestOf is the best that a record knows of.
func BestOf(rec *record.Record) Best { return track(rec).Best() }

// Seen is the best that was seen in a record's own processes.
func Seen(rec *record.Record) Best { return track(rec).Seen() }

func track(rec *record.Record) *Tracker {
	t := &Tracker{Before: rec.Run.Yardsticks}
	for _, p := range rec.Processes {
		t.Add(p)
	}
	return t
}

// timesOf are a process's times of a yardstick.
func timesOf(p *record.ProcessRecord, kind string) (times []float64) {
	for _, b := range p.Batches {
		for _, ns := range b.Yardsticks[kind] {
			if ns > 0 {
				times = append(times, ns)
			}
		}
	}
	return times
}

// Slower is by how much of their best the yardsticks took longer around batch i, by the one that suffered most for what
// it allows: 0.4 is 40 %. It is false where no yardstick was timed.
func (b Best) Slower(line record.Batches, i int) (by float64, quiet, ok bool) {
	quiet = true
	for kind, allowed := range near {
		times := line.Yardsticks[kind]
		if b[kind] == 0 || i+1 >= len(times) {
			continue
		}
		ok = true
		ratio := max(times[i], times[i+1]) / b[kind]
		by = max(by, ratio-1)
		quiet = quiet && ratio <= allowed && min(times[i], times[i+1])/b[kind] >= possible
	}
	return by, quiet, ok
}

// A Moment is what yardsticks that were timed at once tell of it.
type Moment struct {
	Slower float64 // by how much they took longer than their best: 0.4 is 40 %
	Quiet  bool
}

// Moments are those of timings which are not around batches, such as beside load: of each kind, as many times. Where no best is
// known there are none.
func (b Best) Moments(times map[string][]float64) (list []Moment) {
	for kind, allowed := range near {
		if b[kind] == 0 {
			continue
		}
		for i, ns := range times[kind] {
			if i == len(list) {
				list = append(list, Moment{Quiet: true})
			}
			ratio := ns / b[kind]
			list[i].Slower, list[i].Quiet = max(list[i].Slower, ratio-1), list[i].Quiet && possible <= ratio && ratio <= allowed
		}
	}
	return list
}

// Mostly reports whether more than half of the moments were quiet, or whether nothing is known of any.
func Mostly(list []Moment) bool {
	calm := 0
	for _, m := range list {
		if m.Quiet {
			calm++
		}
	}
	return 2*calm > len(list) || len(list) == 0
}

const (
	enoughNS    = 2e6 // ns in quiet batches carry a process's figure: ten batches of 200 µs, or one that holds a cycle of a collector
	enoughShare = 0.1 // of a process's time do where that is less
)

// Enough reports whether the quiet batches carry a process's figure: by the time that they took in ns, of that of all.
func Enough(quiet, all float64) bool { return quiet > 0 && quiet >= min(enoughNS, enoughShare*all) }
