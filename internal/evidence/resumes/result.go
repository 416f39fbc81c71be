// Package resumes is evidence of how long Lua ran at a time. A resume is one run of Lua for a request, from nginx's call to its return.
package resumes

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/probe"
)

// Name is that of the kind, and of its flag.
const Name = "resumes"

// A Result is how long resumes took, and requests waited between two. Times have in them some of what the probe itself takes.
type Result struct {
	probe.Duty
	Count   int           `json:"resumes"`
	Each    time.Duration `json:"cost_of_each_ns"`  // that the probe takes of a worker for a resume
	Lost    int           `json:"lost"`             // nested too deep, or long ones that could not be reported
	Unseen  []string      `json:"unseen,omitempty"` // phases that cannot be probed in this nginx
	Phases  []Phase       `json:"phases"`           // of all workers, that with the largest share first
	Workers []Worker      `json:"workers"`
	Longest []Long        `json:"longest"` // by their own time without waits for a processor
}

// A Worker is the resumes of one.
type Worker struct {
	PID    int           `json:"pid"`
	Probed time.Duration `json:"probed_ns"`
	Phases []Phase       `json:"phases"`
}

// A Phase is the resumes of one.
type Phase struct {
	Phase string          `json:"phase"` // "": not known
	Rate  float64         `json:"per_second"`
	Began int             `json:"began"`     // resumes that did not go on with what had waited: how often Lua came to this phase
	NoCPU time.Duration   `json:"no_cpu_ns"` // of own: it would have run, and had no processor
	Own   probe.Durations `json:"own"`       // without other resumes inside, as those of filters
	Whole probe.Durations `json:"whole"`     // with them
	Wait  probe.Durations `json:"wait"`      // of requests, between two resumes
}

// A Long is one that took longer than most.
type Long struct {
	PID     int           `json:"pid"`
	Phase   string        `json:"phase"`
	URI     string        `json:"uri"`      // "": not known, or none
	Start   time.Duration `json:"start_ns"` // since the machine started
	Own     time.Duration `json:"own_ns"`
	Whole   time.Duration `json:"whole_ns"`
	GoesOn  bool          `json:"goes_on"` // with what had waited
	NoCPU   time.Duration `json:"no_cpu_ns"`
	From    string        `json:"from,omitempty"`  // function@file:line that it began with, or went on in; "": not known
	Pauses  bool          `json:"pauses"`          // it goes on later
	Waits   string        `json:"waits,omitempty"` // line where it waits then
	In      string        `json:"waits_in,omitempty"`
	Ran     string        `json:"ran,omitempty"` // line that most samples found, of those that fell into it
	Samples int           `json:"samples"`
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// Merge is both together.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	both := &Result{Duty: r.And(o.Duty), Count: r.Count + o.Count, Each: max(r.Each, o.Each), Lost: r.Lost + o.Lost}
	both.Unseen = slices.Concat(r.Unseen, o.Unseen)
	slices.Sort(both.Unseen)
	both.Unseen = slices.Compact(both.Unseen)
	both.Phases = together(r.Phases, o.Phases)
	both.Workers = evidence.Group(slices.Concat(r.Workers, o.Workers), func(w Worker) int { return w.PID }, func(to *Worker, one Worker) {
		to.Probed, to.Phases = to.Probed+one.Probed, together(to.Phases, one.Phases)
	})
	both.Longest = append(append([]Long{}, r.Longest...), o.Longest...)
	slices.SortStableFunc(both.Longest, longer)
	return both
}

// Over is the result of some times one after the other, which Merge has put together: rates are those of the whole time that was
// probed.
func (r *Result) Over(int) evidence.Result {
	out := *r
	out.Phases = rated(r.Phases, r.Probed, len(r.Workers))
	out.Workers = slices.Clone(r.Workers)
	for i, w := range out.Workers {
		out.Workers[i].Phases = rated(w.Phases, w.Probed, 1)
	}
	out.Longest = r.Longest[:min(mostLong, len(r.Longest))]
	return &out
}

// since is what has come since an earlier result of the same worker.
func (r Result) since(o Result) Result {
	r.Duty = r.Duty.Since(o.Duty)
	r.Count, r.Lost = r.Count-o.Count, r.Lost-o.Lost
	phases := []Phase{}
	for _, p := range r.Phases {
		for _, q := range o.Phases {
			if q.Phase == p.Phase {
				p.Began, p.NoCPU = p.Began-q.Began, p.NoCPU-q.NoCPU
				p.Own, p.Whole, p.Wait = p.Own.Since(q.Own), p.Whole.Since(q.Whole), p.Wait.Since(q.Wait)
			}
		}
		if p.Own.Count > 0 || p.Wait.Count > 0 {
			phases = append(phases, p)
		}
	}
	r.Phases = rated(phases, r.Probed, 1)
	sortPhases(r.Phases)
	return r
}

// rated is phases of a number of workers with their rates while these were probed.
func rated(phases []Phase, probed time.Duration, workers int) []Phase {
	phases = slices.Clone(phases)
	for i := range phases {
		phases[i].Rate = float64(workers*phases[i].Own.Count) / max(probed.Seconds(), 1e-9)
	}
	return phases
}

// together are the phases of both.
func together(a, b []Phase) []Phase {
	both := evidence.Group(slices.Concat(a, b), func(p Phase) string { return p.Phase }, func(to *Phase, one Phase) {
		to.Rate, to.Began, to.NoCPU = to.Rate+one.Rate, to.Began+one.Began, to.NoCPU+one.NoCPU
		to.Own, to.Whole, to.Wait = to.Own.And(one.Own), to.Whole.And(one.Whole), to.Wait.And(one.Wait)
	})
	sortPhases(both)
	return both
}

// sortPhases sorts those with the most time first.
func sortPhases(all []Phase) {
	slices.SortStableFunc(all, func(a, b Phase) int {
		return cmp.Or(cmp.Compare(b.Own.Total, a.Own.Total), cmp.Compare(a.Phase, b.Phase))
	})
}

// longer sorts resumes by their own time with a processor, the longest first.
func longer(a, b Long) int { return cmp.Compare(b.Own-b.NoCPU, a.Own-a.NoCPU) }
