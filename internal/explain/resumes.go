package explain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/worker"
)

// Resumes is how long runs of Lua took. A resume is one run of Lua for a request, from nginx's call to its return. Times
// are in ns, shares of the time that was probed, of a worker's.
type Resumes struct {
	Elapsed int64           `json:"elapsed_ns"` // of all workers together, as all below
	Probed  int64           `json:"probed_ns"`
	Bursts  int             `json:"bursts"`
	Count   int             `json:"resumes"`
	Each    int64           `json:"cost_of_each_ns"` // that the probe takes of a worker for a resume
	Cost    float64         `json:"cost"`            // share of the elapsed time
	Budget  float64         `json:"budget"`
	Lost    int             `json:"lost"`             // nested too deep, or long ones that could not be told of
	Unseen  []string        `json:"unseen,omitempty"` // phases that cannot be probed in this nginx
	Phases  []PhaseResumes  `json:"phases"`           // that with the largest share first
	Workers []WorkerResumes `json:"workers"`
	Longest []LongResume    `json:"longest"` // by their own time without waits for a processor
}

// WorkerResumes are those of one worker.
type WorkerResumes struct {
	PID    int            `json:"pid"`
	Rate   float64        `json:"per_second"`
	Share  float64        `json:"share"`
	Phases []PhaseResumes `json:"phases"`
}

// PhaseResumes are those of one phase.
type PhaseResumes struct {
	Phase string  `json:"phase"` // "": not known
	Rate  float64 `json:"per_second"`
	Began int     `json:"began"`  // resumes that did not go on with what had waited: how often Lua came to this phase
	NoCPU float64 `json:"no_cpu"` // of the share: it would have run, and had no processor
	Own   Spans   `json:"own"`    // without other resumes inside, as those of filters
	Whole Spans   `json:"whole"`  // with them
	Wait  Spans   `json:"wait"`   // of requests, between two resumes; its share is how many wait at a time, on average
}

// A LongResume is one that took longer than most.
type LongResume struct {
	PID    int    `json:"pid"`
	Phase  string `json:"phase"`
	URI    string `json:"uri"`      // "": not known, or none
	Start  int64  `json:"start_ns"` // since the machine started
	Own    int64  `json:"own_ns"`
	Whole  int64  `json:"whole_ns"`
	GoesOn bool   `json:"goes_on"` // with what had waited
	NoCPU  int64  `json:"no_cpu_ns"`
	From   string `json:"from,omitempty"`  // function@file:line that it began with, or went on in; "": not known
	Pauses bool   `json:"pauses"`          // it goes on later
	Waits  string `json:"waits,omitempty"` // line where it waits then
	In     string `json:"waits_in,omitempty"`
	Ran    string `json:"ran,omitempty"` // line that most looks found, of those that fell into it
	Looks  int    `json:"looks"`
}

// ResumesOf puts what was timed in workers into figures.
func ResumesOf(all []worker.Resumes) *Resumes {
	out := &Resumes{Phases: []PhaseResumes{}, Workers: []WorkerResumes{}, Longest: []LongResume{}}
	var together probe.Duty
	phases := map[string]worker.PhaseResumes{}
	rates := map[string]float64{}
	for _, r := range all {
		together = together.And(r.Duty)
		out.Count += r.Runs
		out.Each = max(out.Each, r.Each.Nanoseconds())
		out.Lost += r.Lost
		out.Unseen = append(out.Unseen, r.Unseen...)
		w := WorkerResumes{PID: r.PID, Phases: []PhaseResumes{}}
		for _, p := range r.Phases {
			one := phaseResumes(p, r.Probed)
			one.Rate = float64(one.Own.Count) / max(r.Probed.Seconds(), 1e-9)
			w.Phases = append(w.Phases, one)
			w.Rate += one.Rate
			w.Share += one.Own.Share
			rates[p.Phase] += one.Rate
			phases[p.Phase] = phases[p.Phase].And(p)
		}
		out.Workers = append(out.Workers, w)
		for _, l := range r.Long {
			out.Longest = append(out.Longest, longResume(l))
		}
	}
	out.Elapsed, out.Probed, out.Bursts, out.Budget = together.Elapsed.Nanoseconds(), together.Probed.Nanoseconds(), together.Bursts, together.Budget
	out.Cost = share(together.Cost.Nanoseconds(), together.Elapsed.Nanoseconds())
	for _, name := range slices.Sorted(maps.Keys(phases)) {
		p := phaseResumes(phases[name], together.Probed)
		p.Phase, p.Rate = name, rates[name]
		out.Phases = append(out.Phases, p)
	}
	slices.SortStableFunc(out.Phases, func(a, b PhaseResumes) int { return cmp.Compare(b.Own.Total, a.Own.Total) })
	slices.SortStableFunc(out.Longest, func(a, b LongResume) int { return cmp.Compare(b.Own-b.NoCPU, a.Own-a.NoCPU) })
	slices.Sort(out.Unseen)
	out.Unseen = slices.Compact(out.Unseen)
	return out
}

func phaseResumes(p worker.PhaseResumes, probed time.Duration) PhaseResumes {
	return PhaseResumes{
		Phase: p.Phase, Began: p.Began, NoCPU: share(p.Queued.Nanoseconds(), probed.Nanoseconds()), Own: SpansOf(p.Own, probed), Whole: SpansOf(p.Whole, probed), Wait: SpansOf(p.Waits, probed),
	}
}

func longResume(l worker.LongResume) LongResume {
	out := LongResume{
		PID: l.PID, Phase: l.Phase, URI: l.Request.URI, Start: l.Start.Nanoseconds(), Own: l.Own.Nanoseconds(), Whole: l.Whole.Nanoseconds(),
		NoCPU: l.Queued.Nanoseconds(), GoesOn: l.GoesOn, Pauses: l.Pauses, Looks: len(l.Samples),
	}
	if l.From != nil {
		out.From = l.From.Where()
	}
	if len(l.Waits) > 0 {
		out.Waits, out.In = worker.Asker(l.Waits).Where(), worker.Called(l.Waits)
	}
	lines := map[string]int{}
	for _, s := range l.Samples {
		line := worker.Asker(s.Stack).Where()
		if lines[line]++; line != "" && lines[line] > lines[out.Ran] {
			out.Ran = line
		}
	}
	return out
}

// Spans are times with what the probe itself takes in them. Percentiles below 1,024 ns are not told apart, and 512.
type Spans struct {
	Count   int     `json:"count"`
	Median  int64   `json:"p50_ns"`
	P99     int64   `json:"p99_ns"`
	Longest int64   `json:"longest_ns"`
	Total   int64   `json:"total_ns"`
	Share   float64 `json:"share"`
}

func share(part, of int64) float64 { return float64(part) / float64(max(1, of)) }

// SpansOf puts times that were seen in so much time into figures.
func SpansOf(d probe.Durations, probed time.Duration) Spans {
	total := d.Total.Nanoseconds()
	return Spans{d.Count, d.Median.Nanoseconds(), d.P99.Nanoseconds(), d.Longest.Nanoseconds(), total, share(total, probed.Nanoseconds())}
}
