package profiles

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/evidence/turns"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime/exec"
	"github.com/moonlap/moonlap/internal/sample"
)

// Document is the profile of what was sampled, of workers or a command, and why some of it could not be.
func (w *Way) Document(all []Sampled, command []string) (out *profile.Profile, errs []error) {
	what := "worker"
	if command != nil {
		what = "process"
	}
	var together sample.Series
	var observed evidence.Set
	var end time.Time
	var seen []int
	for _, l := range all {
		if l.err != nil {
			errs = append(errs, fmt.Errorf("%s %d: %w", what, l.pid, l.err))
		}
		if l.series.Elapsed > 0 {
			seen = append(seen, l.pid)
			if e := l.series.Start.Add(l.series.Elapsed); e.After(end) {
				end = e
			}
		}
		together = together.And(l.series)
		observed = observed.Merge(l.evidence)
	}
	out, chosen := together.Profile(w.Mode.Name, w.Unit())
	out.PIDs, out.Command, out.By, out.Note, out.Hz, out.Hold = seen, exec.Join(command), w.Name(), w.note(), w.Hz, w.Pause
	out.Duration = end.Sub(together.Start)
	out.Evidence = observed.Merge(observe.OfSamples(together, chosen))
	if command != nil && len(out.ByLabel("uri")) == 0 {
		out.Evidence[shares.Name].(*shares.Result).Requests = nil // it is no server
	}
	evidence.Put(out.Evidence, turns.Name, turns.Of(together, w.Stalls))
	return out, errs
}
