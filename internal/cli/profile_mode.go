package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// A mode is what a profile counts.
type mode struct {
	name  string // of its flag, and in documents
	usage string // of that flag
	kind  *observe.Kind
	timed bool // it takes what the kernel tells: of sleeps, or by kind
}

// modes are what a profile counts, one of them; the first is the usual one.
var modes = allModes()

func allModes() []mode {
	all := []mode{
		{name: sample.OnCPU, usage: "where workers compute (the default)"},
		{name: sample.OffCPU, usage: "what puts workers to sleep"},
		{name: sample.Wall, usage: "both, as time; by ptrace all samples"},
		{name: sample.Stalls, usage: "inside event-loop turns of at least that length", timed: true},
	}
	for _, k := range profileKinds {
		if k.Counts != "" {
			all = append(all, mode{name: k.Name, usage: k.Usage, kind: &k, timed: true})
		}
	}
	return all
}

// addModes adds a flag for each mode, all of which but --stalls are on or off.
func (o *profileOptions) addModes(f *pflag.FlagSet) {
	for _, m := range modes {
		if m.name == sample.Stalls {
			f.DurationVar(&o.stalls, m.name, 0, m.usage)
			continue
		}
		f.Bool(m.name, false, m.usage)
	}
}

// chosenMode is the mode that was asked for.
func chosenMode(f *pflag.FlagSet) mode {
	if i := slices.IndexFunc(modes, func(m mode) bool { return given(f.Lookup(m.name)) }); i >= 0 {
		return modes[i]
	}
	return modes[0]
}

// unit is what the profile counts through eBPF.
func (m mode) unit() profile.Unit {
	switch {
	case m.kind != nil:
		return m.kind.Counts
	case m.name == sample.OnCPU:
		return ""
	}
	return profile.Time
}

// wants is what the kernel is to tell.
func (m mode) wants(hz float64, stalls time.Duration) sample.Wants {
	switch {
	case m.kind != nil:
		return sample.Wants{}
	case m.name == sample.OffCPU:
		hz = 0
	}
	return sample.Wants{Hz: hz, Sleeps: m.name != sample.OnCPU, Turns: stalls}
}

// kinds are those that are observed: that of the mode, and those beside it.
func (o *profileOptions) kinds() []observe.Kind {
	all := o.evidence.wanted()
	if o.mode.kind != nil {
		all = append(all, *o.mode.kind)
	}
	return all
}

// needsEBPF names a flag that samples which stop a worker do not do; "": there is none.
func (o *profileOptions) needsEBPF() string {
	for _, k := range o.kinds() {
		return k.Name
	}
	if o.mode.timed {
		return o.mode.name
	}
	return ""
}

// checkObserved refuses what kinds and modes do not go with; files says that the command is about files.
func (o *profileOptions) checkObserved(files bool) error {
	kinds := o.kinds()
	if name := o.needsEBPF(); name != "" && o.by == byPtrace {
		return usageErrorf("--%s takes eBPF: samples that stop a worker do not see it", name)
	}
	for _, k := range kinds {
		what := "nginx workers that run: --pid, --master or --all"
		if k.Programs {
			what = "workers that run, or a command"
		}
		if files || o.command != nil && !k.Programs {
			return usageErrorf("--%s is for %s", k.Name, what)
		}
	}
	return nil
}

// withoutTimes is what samples that stop a worker cannot tell of the mode.
func (m mode) withoutTimes() string {
	if m.name == sample.OnCPU {
		return ""
	}
	return "; so no durations are known, and short sleeps are missed"
}

// errUnsupported says what there is without eBPF.
func errUnsupported(err error) error {
	var names []string
	for _, m := range modes {
		if m.timed {
			names = append(names, "--"+m.name)
		}
	}
	for _, k := range profileKinds {
		if k.Counts == "" {
			names = append(names, "--"+k.Name)
		}
	}
	return fmt.Errorf("%w. Without eBPF, --by ptrace shows where workers compute and sleep, which takes CAP_SYS_PTRACE alone, "+
		"and not what %s does", err, orOf(names))
}
