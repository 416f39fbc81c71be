package cli

import (
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/observe"
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
