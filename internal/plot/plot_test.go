package plot

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// madeUp is a record of cases that take these ns per call, with N processes each: a
// warm-up of three batches, two series of measured ones, one with a trace and one switched.
func madeUp(processes int, ns map[string]float64) *record.Record {
	rec := &record.Record{Run: record.Run{Schema: record.Schema, Kind: "bench"}, End: &record.End{Reason: "complete"}}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range ns {
			if !yield(name) {
				return
			}
		}
	})
	for number, name := range names {
		rec.Cases = append(rec.Cases, record.Case{Case: number, Name: name, GC: "natural", Runtime: "luajit"})
		for round := range processes {
			in := record.In{Process: round*len(names) + number}
			p := &record.ProcessRecord{
				Process: record.Process{In: in, Case: number, Round: round},
				Finish:  &record.Finish{In: in, Stop: "enough"},
			}
			p.Batches = append(p.Batches, batches(in, record.Warmup, 0, 1e6, []float64{50 * ns[name], 2 * ns[name], ns[name]}))
			for series := range 2 {
				values := make([]float64, 20)
				for i := range values {
					values[i] = ns[name] * (1 + float64(i%5)/1000)
				}
				b := batches(in, record.Measure, series, 1e7+1e7*float64(series), values)
				b.Traces = make([]int, 20)
				b.Switches = make([]int, 20)
				if series == 1 {
					b.Traces[4], b.Switches[7] = 1, 2
				}
				p.Batches = append(p.Batches, b)
			}
			rec.Processes = append(rec.Processes, p)
		}
	}
	return rec
}

func batches(in record.In, kind string, series int, at float64, ns []float64) record.Batches {
	b := record.Batches{In: in, Kind: kind, Series: series, AtNS: at}
	for _, x := range ns {
		b.Calls = append(b.Calls, 100)
		b.NS = append(b.NS, 100*x)
	}
	return b
}

func titles(f *lapplot.Figure) (titles []string) {
	for _, c := range f.Charts {
		titles = append(titles, c.Title)
	}
	return titles
}

func TestTimeline(t *testing.T) {
	f, err := Figure([]Source{{"r", madeUp(3, map[string]float64{"a": 10, "b": 12})}}, Options{Kinds: []string{Timeline}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Timeline of batches"}, titles(f)); diff != "" {
		t.Fatal(diff)
	}
	c := f.Charts[0]
	if diff := cmp.Diff([]string{"1", "2", "3"}, c.X.Labels); diff != "" {
		t.Error(diff)
	}
	var summary []string
	for _, s := range c.Series {
		points, gaps, marks := 0, 0, map[string]int{}
		last := math.Inf(-1)
		for _, p := range s.Points {
			if math.IsNaN(p.Y) {
				gaps++
			} else {
				points++
			}
			if p.X < last {
				t.Errorf("%s goes back from %v to %v", s.Name, last, p.X)
			}
			last = p.X
		}
		for _, m := range s.Marks {
			marks[m.Kind]++
		}
		summary = append(summary, fmt.Sprint(s.Name, " pale ", s.Pale, ": ", points, " points, ", gaps, " gaps, ",
			marks[traceMark], " traces, ", marks[gcMark], " collections"))
	}
	if diff := cmp.Diff([]string{ // per process 40 measured, of which 2 are not clean, and 3 of warm-up
		"a pale true: 15 points, 0 gaps, 0 traces, 0 collections",
		"a pale false: 114 points, 3 gaps, 3 traces, 6 collections",
		"b pale true: 15 points, 0 gaps, 0 traces, 0 collections",
		"b pale false: 114 points, 3 gaps, 3 traces, 6 collections",
	}, summary); diff != "" {
		t.Error(diff)
	}
	if len(c.Notes) != 1 || !strings.HasPrefix(c.Notes[0], "pale: 30 batches that are not in the figures") {
		t.Errorf("notes %q", c.Notes)
	}
	var labels []string
	for _, p := range c.Series[0].Points[:5] {
		labels = append(labels, p.Label)
	}
	if diff := cmp.Diff([]string{"warm-up", "warm-up", "warm-up", "left out: a trace fell into it",
		"left out: a context switch or the hypervisor fell into it"}, labels); diff != "" {
		t.Error(diff)
	}
}

// TestWorkersHavePlaces: a case with one worker stands in its process's first place, and
// the workers of another in the order of their numbers, whichever began first.
func TestWorkersHavePlaces(t *testing.T) {
	rec := madeUp(2, map[string]float64{"one": 10, "two": 12})
	for _, p := range rec.Processes[:4] {
		if p.Process.Case == 1 {
			p.Process.Worker = 1
			other := *p
			other.Process.Worker = 0
			rec.Processes = append(rec.Processes, &other)
		}
	}
	f, err := Figure([]Source{{"r", rec}}, Options{Kinds: []string{Timeline}})
	if err != nil {
		t.Fatal(err)
	}
	c := f.Charts[0]
	if diff := cmp.Diff([]string{"1, worker 0", "1, worker 1", "2, worker 0", "2, worker 1"}, c.X.Labels); diff != "" {
		t.Error(diff)
	}
	places := map[string][]int{}
	for _, s := range c.Series {
		for _, p := range s.Points {
			if at := int(math.Round(p.X)); !slices.Contains(places[s.Name], at) && !s.Pale {
				places[s.Name] = append(places[s.Name], at)
			}
		}
	}
	if diff := cmp.Diff(map[string][]int{"one": {0, 2}, "two": {0, 1, 2, 3}}, places); diff != "" {
		t.Error(diff)
	}
}

func TestGoHasNoCollectionMarks(t *testing.T) {
	rec := madeUp(2, map[string]float64{"a": 10})
	rec.Cases[0].Runtime = "go"
	f, err := Figure([]Source{{"r", rec}}, Options{Kinds: []string{Timeline}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Charts[0].Series {
		for _, m := range s.Marks {
			if m.Kind == gcMark {
				t.Errorf("a mark at %v", m.X)
			}
		}
	}
}

func TestSingleProcessHasTime(t *testing.T) {
	f, err := Figure([]Source{{"r", madeUp(1, map[string]float64{"a": 10})}}, Options{Kinds: []string{Timeline}})
	if err != nil {
		t.Fatal(err)
	}
	x := f.Charts[0].X
	if x.Unit != lapplot.Time || x.Labels != nil || f.Charts[0].Series[0].Points[0].X != 1e6 {
		t.Errorf("the axis is %+v, from %v", x, f.Charts[0].Series[0].Points[0].X)
	}
}

// TestOverlay: the cases of several records, their single calls apart from batches.
func TestOverlay(t *testing.T) {
	old, new := madeUp(2, map[string]float64{"a": 10, "b": 12}), madeUp(2, map[string]float64{"a": 11})
	h := lap.NewHistogram()
	for d := range 1000 {
		h.Record(time.Duration(d))
	}
	new.Processes[0].Laps = []record.Laps{
		{Kind: record.LapService, Count: 1000, Histogram: h.Encode()}, {Kind: record.LapResponse, Count: 1000, Histogram: h.Encode()},
		{Kind: record.LapEmpty, Count: 1000, Histogram: h.Encode()}, {Kind: record.LapService, Count: 9, Histogram: "no histogram"},
	}
	f, err := Figure([]Source{{"old", old}, {"new", new}}, Options{Title: "both", Case: regexp.MustCompile("^a$")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"Timeline of batches", "Density of batches", "Density of single calls", "Percentiles of batches", "Percentiles of single calls",
		"Batches over time: a · old", "Batches over time: a · new",
	}, titles(f)); diff != "" {
		t.Error(diff)
	}
	var names [][]string
	for _, c := range f.Charts[1:5] {
		var of []string
		for _, s := range c.Series {
			of = append(of, s.Name)
		}
		names = append(names, of)
	}
	batches, calls := []string{"a · old", "a · new"}, []string{"a · new (service)", "a · new (response)"}
	if diff := cmp.Diff([][]string{batches, calls, batches, calls}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a · new: 1 histograms of single calls can't be read, and are left out"}, f.Notes); diff != "" {
		t.Error(diff)
	}
	for _, c := range f.Charts {
		for _, a := range []lapplot.Axis{c.X, c.Y} {
			if a.Title == "" || a.Unit == lapplot.Time && a.Title != "time per call" && a.Title != "time of all processes" {
				t.Errorf("%s has an axis %+v", c.Title, a)
			}
		}
	}
}

// TestHeatMap: each batch that counts is in one cell, and the shares of a column make one.
func TestHeatMap(t *testing.T) {
	f, err := Figure([]Source{{"r", madeUp(3, map[string]float64{"a": 10, "b": 12})}}, Options{Kinds: []string{Heatmap}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Batches over time: a", "Batches over time: b"}, titles(f)); diff != "" {
		t.Fatal(diff)
	}
	shares := map[float64]float64{}
	for _, p := range f.Charts[0].Series[0].Points {
		shares[p.X] += p.Weight * p.Weight
		if p.Low > 10.6 || p.High < 9.4 || p.Low >= p.High {
			t.Errorf("a cell from %g to %g ns of a case of 10 ns", p.Low, p.High)
		}
	}
	for x, share := range shares {
		if math.Abs(share-1) > 1e-9 {
			t.Errorf("the column at %g has a share of %g", x, share)
		}
	}
	if len(shares) < 3 {
		t.Errorf("%d columns of three processes", len(shares))
	}
}

func TestNothingMeasured(t *testing.T) {
	rec := madeUp(1, map[string]float64{"a": 10, "b": 12})
	rec.Processes[0].Faults = []record.Fault{{Kind: record.FaultError}}
	f, err := Figure([]Source{{"r", rec}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Notes) != 1 || !strings.HasPrefix(f.Notes[0], "a: no process finished") {
		t.Errorf("notes %q", f.Notes)
	}
	_, err = Figure([]Source{{"r", rec}}, Options{Case: regexp.MustCompile("a")})
	if err == nil || !strings.HasPrefix(err.Error(), "a: no process finished") {
		t.Errorf("nothing to draw: %v", err)
	}
	calls := madeUp(1, map[string]float64{"a": 10})
	h := lap.NewHistogram()
	h.Record(7)
	calls.Processes[0].Batches, calls.Processes[0].Laps = nil, []record.Laps{{Kind: record.LapService, Count: 1, Histogram: h.Encode()}}
	if _, err := Figure([]Source{{"r", calls}}, Options{Kinds: []string{Timeline}}); err == nil || !strings.Contains(err.Error(), "no timeline") {
		t.Errorf("a timeline of single calls: %v", err)
	}
	if f, err := Figure([]Source{{"r", calls}}, Options{}); err != nil || len(f.Charts) != 2 {
		t.Errorf("all of single calls: %v, %v", f, err)
	}
	_, err = Figure([]Source{{"r", rec}}, Options{Case: regexp.MustCompile("x")})
	if !errors.Is(err, ErrNoCase) || !strings.Contains(err.Error(), "there are a, b") {
		t.Errorf("no case matches: %v", err)
	}
}

// TestPaleIsThinned: what does not count never outgrows the picture, and its thinning is reported.
func TestPaleIsThinned(t *testing.T) {
	rec := madeUp(2, map[string]float64{"a": 10})
	warmup := &rec.Processes[0].Batches[0]
	for range 5 * palePoints {
		warmup.NS, warmup.Calls = append(warmup.NS, 1000), append(warmup.Calls, 100)
	}
	f, err := Figure([]Source{{"r", rec}}, Options{Kinds: []string{Timeline}})
	if err != nil {
		t.Fatal(err)
	}
	c := f.Charts[0]
	if n := len(c.Series[0].Points); !c.Series[0].Pale || n > palePoints || n < palePoints/2 {
		t.Errorf("%d pale points of %d are drawn, at most %d may be", n, 5*palePoints+10, palePoints)
	}
	if len(c.Notes) != 1 || !strings.HasSuffix(c.Notes[0], "; one of 6 is drawn") {
		t.Errorf("notes %q", c.Notes)
	}
}

// TestOddRecords: whatever a record holds is drawn or refused, in every format.
func TestOddRecords(t *testing.T) {
	odd := []float64{0, 5e-324, 1e-300, 12, 1e300, math.MaxFloat64}
	rapid.Check(t, func(t *rapid.T) {
		rec := madeUp(1, map[string]float64{"a": 10, "b": 12})
		for _, p := range rec.Processes {
			for i := range p.Batches {
				b := &p.Batches[i]
				b.AtNS = rapid.SampledFrom(odd).Draw(t, "at")
				b.NS[rapid.IntRange(0, len(b.NS)-1).Draw(t, "batch")] = rapid.SampledFrom(odd).Draw(t, "ns")
				b.Calls[0] = rapid.SampledFrom([]int{1, math.MaxInt32}).Draw(t, "calls")
			}
			if rapid.Bool().Draw(t, "unfinished") {
				p.Finish = nil
			}
		}
		f, err := Figure([]Source{{"r", rec}}, Options{})
		if err != nil {
			return
		}
		format := rapid.SampledFrom(lapplot.Formats).Draw(t, "format")
		if err := f.Write(io.Discard, format); err != nil && !errors.Is(err, lapplot.ErrEmpty) {
			t.Fatalf("as %s: %v", format, err)
		}
	})
}
