package locks

import (
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/probe"
)

// A Result is how long locks of shared memory were waited for and held. Times have in them what the probe itself takes.
type Result struct {
	probe.Duty
	Taken   int           `json:"taken"`           // locks, while it was probed
	Each    time.Duration `json:"cost_of_each_ns"` // what the probe adds to one, at most
	Workers int           `json:"workers"`
	Timed   int           `json:"workers_timed"` // of these: the others' budget was spent before
	Zones   []Zone        `json:"zones"`         // by name
}

// A Zone is the lock of one zone of shared memory; or nginx.OtherLock, all the others.
type Zone struct {
	Zone  string          `json:"zone"`
	Rate  float64         `json:"taken_per_second"` // by all workers: those that were not timed are taken for ones like the others
	Waits probe.Durations `json:"waits"`
	Holds probe.Durations `json:"holds"`
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// AtLeast reports that rates may be higher: timing took a quarter of the time that was probed, and a worker that takes locks all the
// while takes fewer then.
func (r *Result) AtLeast() bool { return r.Cost > r.Probed/4 }

// Merge is both together.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	both := *r
	both.Duty = r.And(o.Duty)
	both.Taken += o.Taken
	both.Each = max(r.Each, o.Each)
	both.Workers += o.Workers
	both.Timed += o.Timed
	both.Zones = []Zone{}
	for _, one := range []*Result{r, o} {
		part := one.timedShare() / max(both.timedShare(), 1e-9)
		for _, z := range one.Zones {
			z.Rate *= part
			both.add(z)
		}
	}
	return &both
}

// Over is the result of some times after another of the same workers, which Merge has put together as if they were of others.
func (r *Result) Over(times int) evidence.Result {
	n := max(1, times)
	out := *r
	out.Workers, out.Timed = (r.Workers+n-1)/n, (r.Timed+n-1)/n
	out.Zones = slices.Clone(r.Zones)
	for i := range out.Zones {
		out.Zones[i].Rate /= float64(n)
	}
	return &out
}

func (r *Result) timedShare() float64 { return float64(r.Timed) / float64(max(1, r.Workers)) }

func (r *Result) add(z Zone) {
	i, found := slices.BinarySearchFunc(r.Zones, z.Zone, func(a Zone, name string) int { return strings.Compare(a.Zone, name) })
	if !found {
		r.Zones = slices.Insert(r.Zones, i, Zone{Zone: z.Zone})
	}
	to := &r.Zones[i]
	to.Rate += z.Rate
	to.Waits, to.Holds = to.Waits.And(z.Waits), to.Holds.And(z.Holds)
}

// since is what has come since an earlier one of the same worker, in the zones whose locks were taken.
func (r Result) since(o Result) Result {
	r.Duty = r.Duty.Since(o.Duty)
	r.Taken -= o.Taken
	r.Cost = time.Duration(r.Taken) * r.Each
	if r.Probed > 0 {
		r.Timed = 1
	}
	zones := []Zone{}
	for _, z := range r.Zones {
		for _, before := range o.Zones {
			if before.Zone == z.Zone {
				z.Waits, z.Holds = z.Waits.Since(before.Waits), z.Holds.Since(before.Holds)
			}
		}
		if z.Waits.Count > 0 || z.Holds.Count > 0 {
			z.Rate = float64(z.Waits.Count) / max(r.Probed.Seconds(), 1e-9)
			zones = append(zones, z)
		}
	}
	r.Zones = zones
	return r
}
