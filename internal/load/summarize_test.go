package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/lap"
)

// A fakeRun makes the record of a run that never was.
type fakeRun struct {
	sides   int
	blocks  int
	slower  float64 // by how much the second side is
	rate    float64 // offered; 0: closed loop
	sent    float64 // share of what is offered
	busy    float64 // the client's CPU share
	spun    float64 // the part of that in which it only asked for answers
	lag     float64 // of its loop, ns
	stop    float64 // of its thread, once, ns
	drain   float64 // of each slice, ns, beyond its 100 ms
	errors  record.LoadErrors
	answers bool
	limits  []string
	threads int
	seed    uint64
	core    func(block int) float64 // ns of the yardstick of the core; the machine is as much slower than at 1000; nil: none
}

func (f fakeRun) record(t testing.TB) *record.Record {
	t.Helper()
	rng := rand.New(rand.NewPCG(f.seed, 7))
	rule := sequential.DefaultComparing()
	run := record.Run{Schema: record.Schema, Kind: record.KindLoad, Seed: f.seed}
	if f.sides > 1 {
		run.Comparing = &rule
	}
	threads := max(1, f.threads)
	plan := record.Load{Threads: threads, Connections: 10 * threads, SliceNS: 100e6, Pipeline: 1, Limits: f.limits, Rate: f.rate,
		Metrics: []string{sequential.MetricRate, sequential.MetricCPU, "p50"}, Gates: map[string]float64{"cpu": 0.03}}
	lines := []record.Line{run}
	for i := range f.sides {
		name := string(rune('A' + i))
		plan.URLs = append(plan.URLs, "http://host/"+name)
		plan.ServerPIDs = append(plan.ServerPIDs, []int{1})
		lines = append(lines, record.Case{Case: i, Name: name, Benchmark: name, Runtime: record.RuntimeHTTP, GC: "natural"})
	}
	lines = append(lines, plan)
	for i := range threads {
		lines = append(lines, record.LoadThread{Thread: i, Connections: 10})
	}
	slice := 0
	for block := range f.blocks {
		order := rng.Perm(f.sides)
		for i := range 2 * f.sides {
			side := order[min(i, 2*f.sides-1-i)]
			for thread := range threads {
				lines = append(lines, f.slice(rng, thread, side, slice, block))
			}
			slice++
		}
	}
	lines = append(lines, record.LoadDone{Stop: record.LoadStopDuration}, record.End{Reason: "complete"})
	rec := &record.Record{}
	for _, l := range lines {
		if err := rec.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return rec
}

func (f fakeRun) slice(rng *rand.Rand, thread, side, slice, block int) record.LoadSlice {
	s := record.LoadSlice{
		Thread: thread, Side: side, Slice: slice, Block: block, AtNS: float64(slice) * 100e6, NS: 100e6,
		CPUNS: f.busy * 100e6, SpunNS: f.spun * 100e6, LagP99NS: f.lag, LagMaxNS: 2 * f.lag, Errors: f.errors,
	}
	s.NS, s.DrainNS = s.NS+f.drain, f.drain
	if f.stop > 0 && slice == 7 {
		s.StopsNS = []float64{f.stop}
	}
	if !f.answers {
		s.Requests = 5
		return s
	}
	factor := 1.0
	if side == 1 {
		factor += f.slower
	}
	level := factor * math.Exp(0.01*rng.NormFloat64())
	if f.core != nil {
		core := f.core(block)
		level *= core / 1000 * math.Exp(0.4*(core/1000-1)*rng.NormFloat64())
		if thread == 0 {
			s.Yardsticks = map[string][]float64{"core": slices.Repeat([]float64{core}, 10)}
		}
	}
	s.Responses = int64(1000 / level)
	if f.rate > 0 {
		s.Offered = f.rate / 10
		s.Responses = int64(s.Offered * f.sent)
	}
	s.Requests = s.Responses
	values, err := lap.NewHistogramRange(64, time.Hour, 3)
	if err != nil {
		panic(err)
	}
	for range s.Responses {
		ns := 1e6 * level * math.Exp(0.1*rng.NormFloat64())
		s.SumNS += ns
		values.Record(time.Duration(ns))
	}
	s.Latency = values.Encode()
	s.Raw = s.Latency
	if thread == 0 {
		cpu := float64(s.Responses) * 20e3 * factor * math.Exp(0.005*rng.NormFloat64())
		s.ServerCPUNS = &cpu
	}
	return s
}

func TestSummarize(t *testing.T) {
	healthy := fakeRun{sides: 1, blocks: 15, busy: 0.5, lag: 20e3, answers: true}
	for name, c := range map[string]struct {
		run     func(f *fakeRun)
		spoil   func(r *record.Record)
		outcome string
		says    string
	}{
		"healthy":        {outcome: record.LoadOK},
		"limit kept":     {run: func(f *fakeRun) { f.limits = []string{"p99>5ms", "rate<100", "errors>0", "cpu>30us"} }, outcome: record.LoadOK},
		"limit exceeded": {run: func(f *fakeRun) { f.limits = []string{"p99>1ms"} }, outcome: record.LoadLimitExceeded, says: "p99>1ms: it is 1.2"},
		"rate met":       {run: func(f *fakeRun) { f.rate, f.sent = 5000, 1 }, outcome: record.LoadOK},
		"rate missed":    {run: func(f *fakeRun) { f.rate, f.sent = 5000, 0.9 }, outcome: record.LoadRateNotReached, says: "4500 requests a second of 5000"},
		"rate missed, with a wait for answers": {run: func(f *fakeRun) { f.rate, f.sent, f.drain = 5000, 0.9, 100e6 },
			outcome: record.LoadRateNotReached, says: "2250 requests a second of 5000"},
		"no answer":        {run: func(f *fakeRun) { f.answers, f.errors.Refused = false, 5 }, outcome: record.LoadNoAnswer, says: "150 connections refused"},
		"errors alone":     {run: func(f *fakeRun) { f.errors.Status = 0 }, spoil: allStatus, outcome: record.LoadNoAnswer, says: "status of 400"},
		"some errors":      {run: func(f *fakeRun) { f.errors.Timeout = 1 }, outcome: record.LoadOK, says: "30 timeouts"},
		"busy":             {run: func(f *fakeRun) { f.busy = 0.98 }, outcome: record.LoadOK, says: "no CPU time left"},
		"awake, not busy":  {run: func(f *fakeRun) { f.busy, f.spun = 0.98, 0.6 }, outcome: record.LoadOK},
		"busy with limits": {run: func(f *fakeRun) { f.busy, f.limits = 0.98, []string{"p99>1s"} }, outcome: record.LoadClientSaturated},
		"busy with a limit of errors": {run: func(f *fakeRun) { f.busy, f.limits = 0.98, []string{"errors>0", "cpu>1s"} },
			outcome: record.LoadOK, says: "no CPU time left"},
		"late":                       {run: func(f *fakeRun) { f.lag = 1e6 }, outcome: record.LoadOK, says: "the client made the tail"},
		"stood still":                {run: func(f *fakeRun) { f.stop = 200e6 }, outcome: record.LoadOK, says: "stood still once, for up to 200 ms"},
		"still, with limits":         {run: func(f *fakeRun) { f.stop, f.limits = 200e6, []string{"p99>1s"} }, outcome: record.LoadClientSaturated},
		"still for too short a time": {run: func(f *fakeRun) { f.stop = 5e6 }, outcome: record.LoadOK},
		"script": {spoil: func(r *record.Record) {
			r.Load.Scripts = []record.LoadScript{{Hook: "request", Text: "a nil value", Source: record.Source{File: "x.lua", Line: 3}}}
		}, outcome: record.LoadScriptError, says: "failed in request(): x.lua:3: a nil value"},
		"server died": {spoil: func(r *record.Record) {
			r.Faults = []record.Fault{{Case: -1, Stage: StageServer, Text: "gone"}}
		}, outcome: record.LoadServerDied, says: "gone"},
		"slow all the time": {run: func(f *fakeRun) { f.core = func(int) float64 { return 1400 } },
			spoil:   func(r *record.Record) { r.Run.Yardsticks = map[string]float64{"core": 1000} },
			outcome: record.LoadOK, says: "slower than its best for 100 % of the time, by 40 to 40 %"},
		"slow at times": {run: func(f *fakeRun) { f.core = slowBlocks }, outcome: record.LoadOK},
		"engine died": {spoil: func(r *record.Record) {
			r.Faults = []record.Fault{{Case: -1, Kind: record.FaultCrash, Text: "killed by SIGSEGV"}}
		}, outcome: record.LoadEngineFailed, says: "SIGSEGV"},
	} {
		f := healthy
		if c.run != nil {
			c.run(&f)
		}
		rec := f.record(t)
		if c.spoil != nil {
			c.spoil(rec)
		}
		res := Summarize(rec)
		said := ""
		for _, p := range res.Problems {
			said += p.Text + "\n"
		}
		silent := c.outcome == record.LoadOK && c.says == ""
		if res.Outcome != c.outcome || !strings.Contains(said, c.says) || silent && said != "" {
			t.Errorf("%s: %s, %q; want %s, %q", name, res.Outcome, said, c.outcome, c.says)
		}
	}
}

// slowBlocks are three of five.
func slowBlocks(block int) float64 {
	if block*7%5 < 3 {
		return 1500
	}
	return 1000
}

// TestQuietBlocksWeighMore: where a neighbour slows three of five blocks, by chance one side more than the other, a verdict takes
// fewer blocks than without yardsticks, and its interval holds the truth. The side says how much of the time was quiet.
func TestQuietBlocksWeighMore(t *testing.T) {
	rec := fakeRun{sides: 2, blocks: 50, slower: 0.05, busy: 0.5, lag: 20e3, answers: true, seed: 3, core: slowBlocks}.record(t)
	with := Summarize(rec)
	for i := range rec.Load.Slices {
		rec.Load.Slices[i].Yardsticks = nil
	}
	for i, before := range Summarize(rec).Comparisons {
		c := with.Comparisons[i]
		if c.Metric == sequential.MetricCPU { // which the neighbour leaves alone
			continue
		}
		if c.Verdict != record.Slower || c.Pairs >= before.Pairs || c.Ratio.Low > 1.05 || c.Ratio.High < 1.05 {
			t.Errorf("%s: %+v after %d blocks, without yardsticks %+v after %d", c.Metric, c.Ratio, c.Pairs, before.Ratio, before.Pairs)
		}
	}
	for i, s := range with.Sides {
		if s.Quiet == nil || math.Abs(s.Quiet.Share-0.4) > 0.01 || s.Quiet.Disturbed || math.Abs(s.Quiet.SlowerLow-0.5) > 0.01 {
			t.Errorf("quiet: %+v", s.Quiet)
		}
		if with.Cases[i].Quiet != s.Quiet {
			t.Error("the history does not know of it")
		}
	}
	if with.Yardsticks["core"] != 1000 {
		t.Errorf("best: %v", with.Yardsticks)
	}
}

func allStatus(r *record.Record) {
	for i := range r.Load.Slices {
		r.Load.Slices[i].Errors.Status = r.Load.Slices[i].Responses
	}
}

// TestFigures: what is made up comes out again.
func TestFigures(t *testing.T) {
	rec := fakeRun{sides: 1, blocks: 15, busy: 0.5, lag: 20e3, answers: true, threads: 2}.record(t)
	s := Summarize(rec).Sides[0]
	near := func(what string, got, want, tolerance float64) {
		if math.Abs(got-want) > tolerance*want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("the rate of two threads", s.Rate.Estimate, 20000, 0.02)
	near("the median", s.LatencyNS.P50, 1e6, 0.02)
	near("X·R/N", s.Client.XROverN, 1, 0.05)
	near("the CPU share", s.Client.CPUShare, 0.5, 1e-9)
	near("server CPU an answer", s.Server.CPUPerRequestNS.Estimate, 10e3, 0.05) // thread 0 tells of the whole server
	rec.Load.Plan.SliceNS = 10e6                                                // of short slices ten are a point
	if short := Summarize(rec).Sides[0].Series; len(short) != 3 || short[0].Responses < 9*s.Series[0].Responses {
		t.Errorf("%d points: %+v", len(short), short)
	}
	if len(s.Series) != 30 || s.Rate.Low >= s.Rate.Estimate || s.Rate.High <= s.Rate.Estimate {
		t.Errorf("%d points, rate %+v", len(s.Series), s.Rate)
	}
}

// TestTimesWithoutAnswers: a stretch of a run in which nothing was answered has no latency; it is not one of 0.
func TestTimesWithoutAnswers(t *testing.T) {
	rec := fakeRun{sides: 1, blocks: 15, busy: 0.5, lag: 20e3, answers: true}.record(t)
	for i := range rec.Load.Slices[:10] {
		s := &rec.Load.Slices[i]
		s.Responses, s.SumNS, s.Latency, s.Raw = 0, 0, "", ""
	}
	res := Summarize(rec)
	mean, cpu := res.Cases[0].NSPerCall.Interval, res.Sides[0].Server.CPUPerRequestNS
	if mean.Low < 0.9e6 || mean.High > 1.1e6 || cpu.High > 40e3 {
		t.Errorf("mean latency %+v of about 1e6, CPU an answer %+v", mean, cpu)
	}
	for _, p := range res.Cases[0].PerProcess {
		if p.NS < 0.9e6 || p.NS > 1.1e6 {
			t.Errorf("a stretch of %v", p.NS)
		}
	}
}

// TestJudgedAsItRan: a record is judged again as the run judged it, and 5 % are found by CPU time and rate.
func TestJudgedAsItRan(t *testing.T) {
	rec := fakeRun{sides: 2, blocks: 40, slower: 0.05, busy: 0.5, lag: 20e3, answers: true, seed: 3}.record(t)
	live := newJudges(rec)
	for _, s := range rec.Load.Slices {
		live.add(s)
	}
	live.look(true)
	again := Summarize(rec).Comparisons
	if len(again) != 3 {
		t.Fatalf("%d comparisons", len(again))
	}
	for i, c := range again {
		now := live.now()[i]
		now.A, now.B = c.A, c.B
		if d := cmp.Diff(now, c); d != "" {
			t.Error(d)
		}
		if c.Verdict != record.Slower || math.Abs(c.Ratio.Estimate-1.05) > 0.02 {
			t.Errorf("%s: %s, %+v", c.Metric, c.Verdict, c.Ratio)
		}
	}
}

// TestJoin: two machines are one with the threads and connections of both.
func TestJoin(t *testing.T) {
	f := fakeRun{sides: 2, blocks: 30, busy: 0.5, lag: 20e3, answers: true, seed: 5}
	a, b := f.record(t), f.record(t)
	joined, err := Join([]*record.Record{a, b})
	if err != nil {
		t.Fatal(err)
	}
	one, both := Summarize(a), Summarize(joined)
	if both.Load.Machines != 2 || both.Load.Connections != 20 || math.Abs(both.Sides[0].Rate.Estimate-2*one.Sides[0].Rate.Estimate) > 1 {
		t.Errorf("joined: %+v, rate %v of %v", both.Load, both.Sides[0].Rate.Estimate, one.Sides[0].Rate.Estimate)
	}
	if both.Sides[0].LatencyNS.Count != 2*one.Sides[0].LatencyNS.Count || both.Sides[0].LatencyNS.P50 != one.Sides[0].LatencyNS.P50 {
		t.Errorf("joined latencies: %+v of %+v", both.Sides[0].LatencyNS, one.Sides[0].LatencyNS)
	}
	if len(both.Comparisons) == 0 || both.Comparisons[0].Pairs == 0 {
		t.Errorf("no block of both is whole: %+v", both.Comparisons)
	}
	f.seed = 6
	if _, err := Join([]*record.Record{a, f.record(t)}); err == nil || !strings.Contains(err.Error(), "--seed") {
		t.Errorf("another order: %v", err)
	}
	// Where the plan leaves the length of slices to the engine, each machine has chosen its own.
	chosen := func(ns float64) *record.Record {
		r := f.record(t)
		r.Load.Plan.SliceNS, r.Load.Begun = 0, []record.LoadBegin{{SliceNS: ns}}
		return r
	}
	if _, err := Join([]*record.Record{chosen(10e6), chosen(20e6)}); err == nil || !strings.Contains(err.Error(), "10ms and 20ms: run all with the same --slice") {
		t.Errorf("slices of other lengths: %v", err)
	}
	if _, err := Join([]*record.Record{chosen(10e6), chosen(10e6)}); err != nil {
		t.Errorf("slices of the same length: %v", err)
	}
	f.sides = 1
	if _, err := Join([]*record.Record{a, f.record(t)}); err == nil || !strings.Contains(err.Error(), "sides") {
		t.Errorf("other sides: %v", err)
	}
}
