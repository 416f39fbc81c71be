package locks

import (
	"cmp"
	"fmt"
	"slices"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
)

// InSamples is the name of Waits.
const InSamples = "lock_waits"

// Waits is the samples that wait for locks of shared memory.
type Waits struct {
	Of    float64 `json:"of"`    // samples, or ns that all of them mean
	Lines []Wait  `json:"lines"` // that with the largest share first
}

// A Wait is the samples that wait for the lock of one zone in one line of Lua.
type Wait struct {
	Zone    string  `json:"zone"`
	Line    string  `json:"line"`   // function@file:line, outside of lua-resty-core; "" where nginx waits without Lua
	Called  string  `json:"called"` // function that the line calls
	Share   float64 `json:"share"`  // of all samples, or of their time
	Asleep  float64 `json:"asleep"` // the part of the share that slept for it; the rest computed, trying again and again
	Samples int     `json:"samples"`
}

func init() {
	evidence.Register(InSamples, func() evidence.Result { return &Waits{} })
	observe.FromSamples(InSamples, func(all, chosen sample.Series) *Waits { return WaitsOf(chosen) })
}

// WaitsOf are those of samples; nil where none waits for a lock.
func WaitsOf(l sample.Series) *Waits {
	all := &Waits{Of: max(1, l.Total(l.Samples))}
	for _, s := range l.Samples {
		if s.Lock == "" {
			continue
		}
		one := Wait{Zone: s.Lock, Called: sample.Called(s.Stack), Share: l.Weight(s) / all.Of, Samples: 1}
		if s.Lua {
			one.Line = sample.Asker(s.Stack).Where()
		}
		if s.Asleep {
			one.Asleep = one.Share
		}
		all.Lines = append(all.Lines, one)
	}
	if len(all.Lines) == 0 {
		return nil
	}
	return all.grouped()
}

// grouped has each zone, line and function once, that with the largest share first.
func (w *Waits) grouped() *Waits {
	w.Lines = evidence.Group(w.Lines, func(w Wait) [3]string { return [3]string{w.Zone, w.Line, w.Called} }, func(to *Wait, one Wait) {
		to.Share += one.Share
		to.Asleep += one.Asleep
		to.Samples += one.Samples
	})
	slices.SortStableFunc(w.Lines, func(a, b Wait) int { return cmp.Compare(b.Share, a.Share) })
	return w
}

// Merge is both together.
func (w *Waits) Merge(other evidence.Result) evidence.Result {
	o := other.(*Waits)
	both := &Waits{Of: w.Of + o.Of}
	for _, one := range []*Waits{w, o} {
		for _, l := range one.Lines {
			l.Share *= one.Of / both.Of
			l.Asleep *= one.Of / both.Of
			both.Lines = append(both.Lines, l)
		}
	}
	return both.grouped()
}

// Text shows which locks were waited for.
func (w *Waits) Text(p *ui.Page, whose string) {
	p.Section("waiting for locks of shared memory" + whose)
	p.Line(p.Faint.Render(fmt.Sprintf("  %7s %9s %8s", "share", "spinning", "asleep")))
	for l := range ui.First(p, w.Lines) {
		figures := fmt.Sprintf("  %7s %9s %8s  ", ui.Percent(l.Share), ui.Percent(l.Share-l.Asleep), ui.Percent(l.Asleep))
		p.Para(figures, ui.Clean(p.Join(l.Zone, p.Call(l.Line, l.Called))), lipgloss.NewStyle())
	}
}
