package profiles

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/evidence/allocations"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/resumes"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// Kinds of evidence that are observed where a flag with their name asks for it.
var Kinds = []observe.Kind{locks.Kind, resumes.Kind, allocations.Kind}

// A Mode is what a profile counts.
type Mode struct {
	Name  string // of its flag, and in documents
	Usage string // of that flag
	kind  *observe.Kind
	timed bool // it takes what the kernel tells: of sleeps, or by kind
}

// Modes are what a profile counts, one of them; the first is the usual one.
var Modes = allModes()

func allModes() []Mode {
	all := []Mode{
		{Name: sample.OnCPU, Usage: "where workers compute (the default)"},
		{Name: sample.OffCPU, Usage: "what puts workers to sleep"},
		{Name: sample.Wall, Usage: "both of these, as time; by ptrace all samples"},
		{Name: sample.Stalls, Usage: "time in event-loop turns of at least that length", timed: true},
	}
	for _, k := range Kinds {
		if k.Counts != "" {
			all = append(all, Mode{Name: k.Name, Usage: k.Usage, kind: &k, timed: true})
		}
	}
	return all
}

// unit is what the profile counts through eBPF.
func (m Mode) unit() profile.Unit {
	switch {
	case m.kind != nil:
		return m.kind.Counts
	case m.Name == sample.OnCPU:
		return ""
	}
	return profile.Time
}

// wants is what the kernel is to tell.
func (m Mode) wants(hz float64, stalls time.Duration) sample.Wants {
	switch {
	case m.kind != nil:
		return sample.Wants{}
	case m.Name == sample.OffCPU:
		hz = 0
	}
	return sample.Wants{Hz: hz, Sleeps: m.Name != sample.OnCPU, Turns: stalls}
}

// withoutTimes is what samples that stop a worker cannot tell of the mode.
func (m Mode) withoutTimes() string {
	if m.Name == sample.OnCPU {
		return ""
	}
	return "; so no durations are known, and short sleeps are missed"
}

// errUnsupported says what there is without eBPF.
func errUnsupported(err error) error {
	var names []string
	for _, m := range Modes {
		if m.timed {
			names = append(names, "--"+m.Name)
		}
	}
	for _, k := range Kinds {
		if k.Counts == "" {
			names = append(names, "--"+k.Name)
		}
	}
	last := len(names) - 1
	return fmt.Errorf("%w. Without eBPF, --by ptrace shows where workers compute and sleep, which takes CAP_SYS_PTRACE alone, "+
		"and not what %s or %s does", err, strings.Join(names[:last], ", "), names[last])
}

// IsMode reports whether a flag is that of a mode.
func IsMode(flag string) bool {
	return slices.ContainsFunc(Modes, func(m Mode) bool { return m.Name == flag })
}
