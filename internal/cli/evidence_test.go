package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

// TestEvidenceFlags: each kind has a flag with its name; a command without these flags wants none.
func TestEvidenceFlags(t *testing.T) {
	var none evidenceFlags
	if got := none.wanted(); got != nil {
		t.Errorf("without flags: %v", got)
	}
	for _, k := range evidenceKinds {
		var e evidenceFlags
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		e.addFlags(f)
		if err := f.Parse([]string{"--" + k.Name()}); err != nil {
			t.Fatal(err)
		}
		if got := e.wanted(); len(got) != 1 || got[0] != k {
			t.Errorf("--%s: %v", k.Name(), got)
		}
	}
}
