package allocations

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/sample"
)

// TestAllocationPlan: a window lies in its stratum; the first ones, whose cost is not known, are no more than the budget's share;
// and if a worker goes on to cost what it has, the probe stays within the budget.
func TestAllocationPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.Float64Range(1e-4, 1).Draw(t, "budget")
		least := time.Duration(rapid.Int64Range(1e6, 50e6).Draw(t, "shortest window"))
		rate := rapid.Float64Range(0, 1).Draw(t, "cost of the time that is probed")
		var done []window
		var p plan
		var elapsed, cost time.Duration
		const strata = 300
		for n := range strata {
			before := p
			p = next(done, before, cost, elapsed, least, budget)
			if p.window < least || p.window > p.stratum || p.share() > 1 {
				t.Fatalf("%v of %v", p.window, p.stratum)
			}
			if n == 0 && budget < 1 && p.share() > budget*1.001 {
				t.Fatalf("the first one is %v of %v, at a budget of %v", p.window, p.stratum, budget)
			}
			if n > 0 && p.share() > growth*before.share()*1.001 {
				t.Fatalf("from %v to %v at once", before.share(), p.share())
			}
			w := window{to: p.window, stratum: p.stratum, cost: time.Duration(rate * float64(p.window))}
			done = append(done, w)
			elapsed, cost = elapsed+p.stratum, cost+w.cost
		}
		const rounding = 1.01
		if float64(cost) > budget*float64(elapsed)*rounding {
			t.Errorf("%v of %v, at a budget of %v", cost, elapsed, budget)
		}
		if rate < budget/2 && !p.all() {
			t.Errorf("%v of %v is probed, though all of it would cost %v of %v", p.window, p.stratum, rate, budget)
		}
	})
}

// TestAllocationPatience: where edges take however long, up to some milliseconds, a few windows later they are sharp, and a small part
// of the window; where they are short, windows are, too.
func TestAllocationPatience(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		takes := time.Duration(rapid.Int64Range(1e3, 5e6).Draw(t, "an edge"))
		var p patience
		sharp := 0
		const windows = 40
		for range windows {
			ok := takes < p.slack(p.window())
			if p.slack(p.window()) > p.window()/10 || p.window() > 100*time.Millisecond {
				t.Fatalf("%v of %v", p.slack(p.window()), p.window())
			}
			if ok {
				sharp++
			}
			p = p.after(ok)
		}
		if sharp < windows/2 {
			t.Errorf("%d of %d windows are sharp, whose edges take %v", sharp, windows, takes)
		}
		if takes < 100*time.Microsecond && p.window() != time.Millisecond {
			t.Errorf("windows of %v, though edges take %v", p.window(), takes)
		}
	})
}

// TestAllocationEstimate: of a worker that allocates so much for each byte of LuaJIT's books, that is found again, however its
// windows lie, and whatever the probe slows down; and the interval holds it.
func TestAllocationEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 100
		each := rapid.Float64Range(1, 3).Draw(t, "bytes for one of the books")
		booked := func(blocks int64) collector.Ledger {
			return collector.Ledger{Known: collector.Counted{Bytes: float64(blocks*size) / each, Used: time.Millisecond}}
		}
		var windows []window
		var at time.Duration
		var whole collector.Ledger
		var right float64
		for range rapid.IntRange(1, 50).Draw(t, "windows") {
			stratum := time.Duration(rapid.Int64Range(1e6, 1e9).Draw(t, "stratum"))
			length := time.Duration(rapid.Int64Range(1e5, int64(stratum)).Draw(t, "window"))
			blocks := rapid.Int64Range(1, 1e6).Draw(t, "blocks")
			w := window{from: at, to: at + length, stratum: stratum, books: booked(blocks)}
			w.Allocated = Allocated{Bytes: uint64(blocks * size), Blocks: uint64(blocks)}
			windows = append(windows, w)
			at += stratum
			outside := rapid.Int64Range(0, 1e7).Draw(t, "blocks outside of the window")
			whole = whole.And(w.books, 1).And(booked(outside), 1)
			right += float64((blocks + outside) * size)
		}
		var a Result
		a.estimate(windows, whole)
		if math.Abs(a.Bytes-right) > right/1e3 || math.Abs(a.Objects-right/size) > right/size/1e3 {
			t.Errorf("%.0f bytes and %.0f blocks, where %.0f bytes were allocated", a.Bytes, a.Objects, right)
		}
		if a.Low > a.Bytes || a.High < a.Bytes {
			t.Errorf("%.0f is not from %.0f to %.0f", a.Bytes, a.Low, a.High)
		}
	})
	var none Result
	if none.estimate(nil, collector.Ledger{Known: collector.Counted{Bytes: 70, Used: 1}}); none.Bytes != 70 || none.Objects != 0 {
		t.Errorf("without windows there are the books: %+v", none)
	}
	var idle Result
	if idle.estimate([]window{{to: time.Second, stratum: time.Second}}, collector.Ledger{}); idle.Bytes != 0 || idle.High != 0 {
		t.Errorf("of an idle worker: %+v", idle)
	}
	var vague Result
	if vague.estimate(nil, collector.Ledger{Known: collector.Counted{Bytes: 70, Used: 7}, Busy: collector.Counted{Bytes: 10, Used: 1}, Marked: collector.Counted{Bytes: 1, Used: 2}}); vague.Bytes != 90 || vague.Low != 71 || vague.High != 109 {
		t.Errorf("20 bytes come to the CPU time of which only one byte is known: %+v", vague)
	}
}

// TestAllocationWeigh: samples share what was counted, by their weights; those between windows have none.
func TestAllocationWeigh(t *testing.T) {
	at := func(when time.Duration, growth uint64, grew bool) taken {
		return taken{sample.Sample{Time: when}, allocation{Growth: growth, Grew: grew, Mean: 1}}
	}
	windows := []window{{from: 10, to: 20, stratum: 20}, {from: 30, to: 40, stratum: 10}}
	a := Result{Bytes: 900, Objects: 7}
	got := a.weigh([]taken{at(5, 100, false), at(10, 100, false), at(25, 100, false), at(40, 100, true), at(41, 100, false)}, windows)
	if len(got) != 2 || got[0].Time != 10 || got[1].Time != 40 {
		t.Fatalf("%+v", got)
	}
	// The first one's window stands for twice its length.
	first, second := got[0], got[1]
	if math.Round(first.Bytes) != 600 || math.Round(second.Bytes) != 300 || math.Round(first.Objects) != 7 || second.Objects != 0 {
		t.Errorf("%+v %+v", first, second)
	}
}
