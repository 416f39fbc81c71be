package cli

import (
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/evidence/allocations"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/resumes"
	"github.com/moonlap/moonlap/internal/evidence/toplines"
	"github.com/moonlap/moonlap/internal/observe"
)

// Kinds of evidence that are observed where a flag with their name asks for it.
var (
	profileKinds = []observe.Kind{locks.Kind, resumes.Kind, allocations.Kind}
	watchKinds   = []observe.Kind{locks.Kind, toplines.Kind}
)

// evidenceFlags are which kinds were asked for beside what a command counts.
type evidenceFlags struct {
	kinds []observe.Kind
	on    map[string]*bool
}

func (e *evidenceFlags) addFlags(f *pflag.FlagSet, kinds []observe.Kind) {
	e.kinds, e.on = kinds, map[string]*bool{}
	for _, k := range kinds {
		if k.Counts == "" {
			e.on[k.Name] = f.Bool(k.Name, false, k.Usage)
		}
	}
}

func (e *evidenceFlags) wanted() (kinds []observe.Kind) {
	for _, k := range e.kinds {
		if on := e.on[k.Name]; on != nil && *on {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
