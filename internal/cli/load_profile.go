package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

// loadHz is how often a second the server is sampled under load: often enough for a profile of each side in half a minute, and
// both sides pay for it alike.
const loadHz = 199

// addLoadModes adds flags for what the profile counts, and for what is observed beside it.
func (o *profileOptions) addLoadModes(f *pflag.FlagSet) {
	o.By, o.Hz, o.Budget = profiles.Auto, loadHz, 0.01
	for _, m := range profiles.Modes {
		if m.Name != sample.OnCPU && m.Name != sample.Stalls {
			f.Bool(m.Name, false, "the profile is of "+m.Usage)
		}
	}
	o.evidence.addFlags(f, profiles.Kinds)
}

// openLoadProfiler has a server sampled as soon as the load on it has begun.
func openLoadProfiler(ctx context.Context, sys Sys, counted profileOptions, o *load.Options) (*profiles.Sides, error) {
	var names []string
	found := map[int]bool{}
	for _, s := range o.Sides {
		names = append(names, s.Name)
		if s.Find == nil {
			continue
		}
		for _, pid := range s.Find() {
			found[pid] = true
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no process of the server is known here, so there is no profile: name it with --server-pid")
	}
	p, err := profiles.OpenSides(ctx, counted.Options, names, sys.Now(), noting(sys))
	if err != nil {
		return nil, err
	}
	p.Sample(slices.Collect(maps.Keys(found)))
	o.Began = func(ns float64) { p.Begin(time.Duration(ns)) }
	o.Heard = p.Heard
	return p, nil
}
