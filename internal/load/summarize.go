package load

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/lap"
)

// Summarize turns a record of load into results: each side, the comparisons, the limits, and what went wrong.
func Summarize(rec *record.Record) *record.LoadResults {
	plan := record.Load{}
	if rec.Load.Plan != nil {
		plan = *rec.Load.Plan
	}
	plan.SliceNS = rec.Load.SliceNS()
	res := &record.LoadResults{
		Results: &record.Results{
			Schema: record.Schema, Kind: rec.Run.Kind, Environment: rec.Run.Environment, Runtime: rec.Runtime,
			Seed: rec.Run.Seed, Warnings: []record.Warning{}, Cases: []record.CaseResult{}, Complete: rec.Complete(),
		},
		Load: plan, Sides: []record.LoadSide{}, Problems: []record.LoadProblem{},
	}
	best := bestOf(rec)
	if len(best) > 0 {
		res.Yardsticks = best
	}
	for i, c := range rec.Cases {
		s := newSide(rec, plan, i)
		side := s.result(c.Name, urlOf(plan, i))
		side.Quiet = quietOf(s.slices, best, side.LatencyNS.Mean)
		res.Sides = append(res.Sides, side)
		res.ElapsedNS += side.ElapsedNS
		res.Cases = append(res.Cases, s.asCase(c, rec, side))
	}
	res.Comparisons = compare(rec)
	judgeLimits(res)
	if plan.Searching {
		res.MaxRate = highest(res)
	}
	AddProblems(res, problems(rec, res)...)
	return res
}

func urlOf(plan record.Load, side int) string {
	if plan.Searching && len(plan.URLs) > 0 {
		return plan.URLs[0]
	}
	if side < len(plan.URLs) {
		return plan.URLs[side]
	}
	return ""
}

// A side collects the slices of one side.
type side struct {
	plan        record.Load
	connections int // of the side, over all threads
	threads     int
	groups      []*group
	whole       group
	raw         *lap.Histogram
	tags        map[string]*tag
	lags        []weighted
	lagMax      float64
	stops       []float64
	cpuShare    float64
	slices      []record.LoadSlice
}

// A group is a stretch of slices that is shown as one point.
type group struct {
	at, ns    float64 // the first slice's, and the sum over slices, per thread
	cpu       float64
	threadNS  float64 // over all threads
	serverCPU float64
	server    bool
	sum       float64 // of raw latencies
	requests  int64
	responses int64
	bytes     int64
	unsent    int64
	late      int64
	offered   float64
	drain     float64 // part of ns, in which nothing more became due
	errors    record.LoadErrors
	values    *lap.Histogram
	// Of values, where these were left out: the sum of corrected latencies, and how many there are.
	corrected, latencies float64
}

type tag struct {
	count, errors int64
	values        *lap.Histogram
}

type weighted struct{ value, weight float64 }

const (
	mostPoints = 600 // that a side's series has
	pointNS    = 1e8 // of a side's time that a point is of, at least: in less there is no p99
)

func newSide(rec *record.Record, plan record.Load, number int) *side {
	s := &side{plan: plan, tags: map[string]*tag{}}
	for _, t := range rec.Load.Threads {
		s.connections += t.Connections
		s.threads++
	}
	if plan.Searching { // every step is an engine of its own
		s.connections, s.threads = plan.Connections, plan.Threads
	}
	if s.threads == 0 {
		s.connections, s.threads = plan.Connections, max(1, plan.Threads)
	}
	var own []record.LoadSlice
	for _, l := range rec.Load.Slices {
		if l.Side == number && !l.Warmup {
			own = append(own, l)
		}
	}
	slices.SortStableFunc(own, func(a, b record.LoadSlice) int { return a.Slice - b.Slice })
	s.slices = own
	count := 0
	last := -1
	for _, l := range own {
		if l.Slice != last {
			count, last = count+1, l.Slice
		}
	}
	each := (count + mostPoints - 1) / mostPoints
	if plan.SliceNS >= 1e6 {
		each = max(each, int(math.Round(pointNS/plan.SliceNS)))
	}
	last, count = -1, -1
	for _, l := range own {
		if l.Slice != last {
			count, last = count+1, l.Slice
			if count%each == 0 {
				s.groups = append(s.groups, &group{at: l.AtNS})
			}
		}
		g := s.groups[len(s.groups)-1]
		g.add(l, s.threads)
		s.raw = merge(s.raw, cmp.Or(l.Raw, l.Latency))
		s.lags = append(s.lags, weighted{l.LagP99NS, float64(l.Responses)})
		s.lagMax = max(s.lagMax, l.LagMaxNS)
		s.stops = append(s.stops, l.StopsNS...)
		for _, t := range l.Tags {
			s.tag(t)
		}
	}
	for _, g := range s.groups {
		s.whole.join(g)
	}
	return s
}

func (s *side) tag(t record.LoadTag) {
	known := s.tags[t.Name]
	if known == nil {
		known = &tag{}
		s.tags[t.Name] = known
	}
	known.count += t.Count
	known.errors += t.Errors
	known.values = merge(known.values, t.Latency)
}

// add adds a thread's slice.
func (g *group) add(l record.LoadSlice, threads int) {
	g.join(&group{
		ns: l.NS / float64(threads), threadNS: l.NS, cpu: max(0, l.CPUNS-l.SpunNS), sum: l.SumNS,
		requests: l.Requests, responses: l.Responses, bytes: l.Bytes, unsent: l.Unsent, late: l.Late,
		offered: l.Offered, drain: l.DrainNS / float64(threads), errors: l.Errors,
	})
	if l.ServerCPUNS != nil {
		g.serverCPU += *l.ServerCPUNS
		g.server = true
	}
	g.values = merge(g.values, l.Latency)
}

func (g *group) join(o *group) {
	g.ns += o.ns
	g.threadNS += o.threadNS
	g.cpu += o.cpu
	g.serverCPU += o.serverCPU
	g.server = g.server || o.server
	g.sum += o.sum
	g.requests += o.requests
	g.responses += o.responses
	g.bytes += o.bytes
	g.unsent += o.unsent
	g.late += o.late
	g.offered += o.offered
	g.drain += o.drain
	g.errors.Add(o.errors)
	g.corrected += o.corrected
	g.latencies += o.latencies
	if o.values == nil {
		return
	}
	if g.values == nil {
		g.values = lap.NewHistogram()
		if copied, err := lap.Decode(o.values.Encode()); err == nil {
			g.values = copied
		}
		return
	}
	g.values.Merge(o.values)
}

// latency is the sum of corrected latencies, and how many there are.
func (g *group) latency() (sum, count float64) {
	if g.values == nil {
		return 0, 0
	}
	count = float64(g.values.Count())
	return g.values.Mean() * count, count
}

// meanNS is the mean latency, NaN where nothing was answered.
func (g *group) meanNS() float64 { return g.corrected / g.latencies }

// serverCPUNS is CPU time of the server an answer, NaN where there is none.
func (g *group) serverCPUNS() float64 {
	if g.responses == 0 {
		return math.NaN()
	}
	return g.serverCPU / float64(g.responses)
}

func (g *group) rate() float64 {
	if g.ns == 0 {
		return 0
	}
	return float64(g.responses) / g.ns * 1e9
}

// offeredRate is how many requests a second became due while any did: not while answers were awaited at the end.
func (g *group) offeredRate() float64 {
	if g.ns <= g.drain {
		return 0
	}
	return g.offered / (g.ns - g.drain) * 1e9
}

func (s *side) result(name, url string) record.LoadSide {
	w := s.whole
	side := record.LoadSide{
		LoadSeen: record.LoadSeen{Name: name, Requests: w.requests, Responses: w.responses, Errors: w.errors, LatencyNS: latencyOf(w.values)},
		URL:      url, Bytes: w.bytes, ElapsedNS: w.ns, RawNS: latencyOf(s.raw), Series: []record.LoadPoint{},
	}
	side.Rate = s.over((*group).rate)
	side.Rate.Estimate = w.rate()
	if w.ns > 0 && (s.plan.Rate > 0 || len(s.plan.Stages) > 0 || w.offered > 0) {
		side.Offered, side.OfferedRate = int64(math.Round(w.offered)), w.offeredRate()
	}
	if w.server && w.responses > 0 {
		iv := s.over((*group).serverCPUNS)
		iv.Estimate = w.serverCPU / float64(w.responses)
		side.Server = &record.LoadServer{CPUPerRequestNS: iv, CPUShare: w.serverCPU / w.ns}
	}
	side.Client = s.client(side)
	for _, name := range slices.Sorted(maps.Keys(s.tags)) {
		t := s.tags[name]
		side.Tags = append(side.Tags, record.LoadTagged{Name: name, Count: t.count, Errors: t.errors, LatencyNS: latencyOf(t.values)})
	}
	for _, g := range s.groups {
		side.Series = append(side.Series, g.point())
	}
	if w.values != nil {
		side.Histogram = w.values.Encode()
	}
	if s.raw != nil {
		side.RawCounts = s.raw.Encode()
	}
	return side
}

// over is the interval of a mean over time.
func (s *side) over(of func(*group) float64) record.Interval {
	values := s.stretches(of)
	if len(values) == 0 {
		return record.Interval{}
	}
	return estimate.MeanInterval(values)
}

// stretches are the values of parts of the run that are long enough to differ by chance alone. A part without a value
// has none.
func (s *side) stretches(of func(*group) float64) (values []float64) {
	const most = 20
	each := max(1, (len(s.groups)+most-1)/most)
	for from := 0; from+each <= len(s.groups); from += each {
		stretch := group{}
		for _, g := range s.groups[from : from+each] {
			light := *g
			light.values = nil
			light.corrected, light.latencies = g.latency()
			stretch.join(&light)
		}
		if value := of(&stretch); !math.IsNaN(value) {
			values = append(values, value)
		}
	}
	return values
}

func latencyOf(h *lap.Histogram) record.LoadLatency {
	if h == nil || h.Count() == 0 {
		return record.LoadLatency{}
	}
	at := func(p float64) float64 { return float64(h.Percentile(p)) }
	l := record.LoadLatency{
		Count: h.Count(), Mean: h.Mean(), Min: float64(h.Min()), P50: at(50), P75: at(75), P90: at(90), P99: at(99),
		P999: at(99.9), P9999: at(99.99), Max: float64(h.Max()),
	}
	squares := 0.0
	for b := range h.Buckets {
		d := (float64(b.Low)+float64(b.High))/2 - l.Mean
		squares += d * d * float64(b.Count)
	}
	l.Stdev = math.Sqrt(squares / float64(l.Count))
	return l
}

func (g *group) point() record.LoadPoint {
	p := record.LoadPoint{AtNS: g.at, NS: g.ns, Responses: g.responses, Errors: g.errors.Total(), Rate: g.rate()}
	if g.ns > 0 {
		p.Offered = g.offeredRate()
	}
	if g.values != nil {
		p.P50, p.P99, p.Max = float64(g.values.Percentile(50)), float64(g.values.Percentile(99)), float64(g.values.Max())
		for b := range g.values.Buckets {
			cell := record.HeatAt(float64(b.Low))
			for len(p.Heat) <= cell {
				p.Heat = append(p.Heat, 0)
			}
			p.Heat[cell] += b.Count
		}
		p.Histogram = g.values.Encode()
	}
	return p
}

// asCase is the side as a case of results, for the history and its baselines: the mean latency, corrected.
func (s *side) asCase(c record.Case, rec *record.Record, side record.LoadSide) record.CaseResult {
	out := record.CaseResult{
		Name: c.Name, Case: c, Warnings: []record.Warning{}, Modes: []record.Mode{}, PerProcess: []record.ProcessResult{},
		Faults: rec.FaultsOf(c.Case), Profile: rec.ProfileOf(c.Case), Quiet: side.Quiet,
	}
	if side.LatencyNS.Count == 0 {
		return out
	}
	iv := s.over((*group).meanNS)
	scale := 1.0
	if iv.Estimate > 0 {
		scale = side.LatencyNS.Mean / iv.Estimate
	}
	for i, ns := range s.stretches((*group).meanNS) {
		out.PerProcess = append(out.PerProcess, record.ProcessResult{Process: i, NS: ns, MinNS: side.LatencyNS.Min, Steady: record.SteadyFlat})
	}
	out.Processes = 1
	out.Steady = record.SteadyFlat
	out.NSPerCall = &record.Distribution{
		Interval: record.Interval{Estimate: side.LatencyNS.Mean, Low: iv.Low * scale, High: iv.High * scale},
		Min:      side.LatencyNS.Min, P50: side.LatencyNS.P50, P90: side.LatencyNS.P90, P99: side.LatencyNS.P99, Max: side.LatencyNS.Max,
	}
	return out
}

// weightedQuantile is the value that a share q of the weight is not above.
func weightedQuantile(list []weighted, q float64) float64 {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total, seen := 0.0, 0.0
	for _, w := range sorted {
		total += w.weight
	}
	for _, w := range sorted {
		if seen += w.weight; seen >= q*total {
			return w.value
		}
	}
	return 0
}
