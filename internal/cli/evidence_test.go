package cli

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/view/profiles"
	"github.com/moonlap/moonlap/internal/view/watch"
)

// TestEvidenceFlags: each kind has a flag with its name; a command without these flags wants none.
func TestEvidenceFlags(t *testing.T) {
	var none evidenceFlags
	if got := none.wanted(); got != nil {
		t.Errorf("without flags: %v", got)
	}
	for _, k := range slices.Concat(watch.Kinds, profiles.Kinds) {
		if k.Counts != "" {
			continue // it is a mode
		}
		var e evidenceFlags
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		e.addFlags(f, []observe.Kind{k})
		if err := f.Parse([]string{"--" + k.Name}); err != nil {
			t.Fatal(err)
		}
		if got := e.wanted(); len(got) != 1 || got[0].Name != k.Name {
			t.Errorf("--%s: %v", k.Name, got)
		}
	}
}
