package cli

import (
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/observe"
)

// evidenceKinds are those that are observed where a flag with their name asks for it.
var evidenceKinds = []observe.Kind{locks.Kind{}}

// evidenceFlags are which kinds were asked for.
type evidenceFlags struct{ on map[string]*bool }

func (e *evidenceFlags) addFlags(f *pflag.FlagSet) {
	e.on = map[string]*bool{}
	for _, k := range evidenceKinds {
		e.on[k.Name()] = f.Bool(k.Name(), false, k.Usage())
	}
}

func (e *evidenceFlags) wanted() (kinds []observe.Kind) {
	for _, k := range evidenceKinds {
		if on := e.on[k.Name()]; on != nil && *on { // bench and load have no such flags
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// checkEvidence refuses what kinds of evidence do not go with; files says that the command is about files.
func (o *profileOptions) checkEvidence(files bool) error {
	asked := map[string]bool{"allocations": o.allocations, "resumes": o.resumes}
	for _, k := range o.evidence.wanted() {
		asked[k.Name()] = true
	}
	for _, k := range o.evidence.wanted() {
		for _, other := range k.Conflicts() {
			if asked[other] {
				return usageErrorf("--%s or --%s, not both: each would find the other's cost in its figures", other, k.Name())
			}
		}
		switch {
		case o.by == byPtrace:
			return usageErrorf("--%s takes eBPF, and --by ptrace does without", k.Name())
		case o.command != nil:
			return usageErrorf("--%s is for nginx workers that run: --pid, --master or --all", k.Name())
		case files:
			return usageErrorf("--%s is for nginx workers that run, not for files", k.Name())
		}
	}
	return nil
}
