package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/metrics"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

// moons is a throw-away kind of evidence, as its one folder would have it.
type moons struct {
	Seen int `json:"seen"`
}

func (m *moons) Merge(o evidence.Result) evidence.Result { return &moons{m.Seen + o.(*moons).Seen} }
func (m *moons) Text(p *ui.Page, whose string)           { p.Fact("moons", ui.Count(m.Seen)+" seen"+whose) }
func (m *moons) Metrics(*metrics.Page, ...string)        {}

// TestTrialKind: a kind of evidence is its folder and one line, in Kinds of view/profiles. Its flag, help, refusals, reading and drawing
// follow from these.
func TestTrialKind(t *testing.T) {
	evidence.Register("moons", func() evidence.Result { return &moons{} })
	kinds := profiles.Kinds
	defer func() { profiles.Kinds = kinds }()
	profiles.Kinds = append(kinds[:len(kinds):len(kinds)], observe.Kind{Name: "moons", Usage: "also count moons", Conflicts: []string{"locks"}})
	kept := filepath.Join(t.TempDir(), "kept.json")
	text := `{"schema":"moonlap/1","kind":"profile","head":{"unit":"samples"},"stacks":[],"evidence":{"moons":{"seen":7}}}`
	if err := os.WriteFile(kept, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"help profile", "--moons"},
		{"profile --all --moons --locks", "not both"},
		{"profile --all --locks --moons", "not both"},
		{"load --moons http://127.0.0.1:1/", "--moons goes with --profile"},
		{"report " + kept, "moons    7 seen"},
	} {
		var out bytes.Buffer
		sys := RealSys()
		sys.Stdout, sys.Stderr, sys.StdoutTerminal, sys.StderrTerminal = &out, &out, false, false
		Main(context.Background(), sys, strings.Fields(c.args))
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, out.String())
		}
	}
}

// TestTrialFlag: what holds of a flag beyond its value and its help is one row of the table.
func TestTrialFlag(t *testing.T) {
	rules := flagRules
	defer func() { flagRules = rules }()
	flagRules = append(rules[:len(rules):len(rules)],
		flagRule{name: "phase-of-moon", strict: true, values: these("new", "full"), conflicts: in("bench", "jit"), needs: in("bench", "setup")})
	for given, want := range map[string]string{
		"--phase-of-moon full --setup x":          "",
		"--phase-of-moon half --setup x":          "there are new, full",
		"--phase-of-moon full":                    "--phase-of-moon goes with --setup",
		"--phase-of-moon new --setup x --jit off": "not both",
	} {
		f := pflag.NewFlagSet("bench", pflag.ContinueOnError)
		for _, name := range []string{"phase-of-moon", "setup", "jit"} {
			f.String(name, "", "")
		}
		if err := f.Parse(strings.Fields(given)); err != nil {
			t.Fatal(err)
		}
		if err := checkFlags("bench", f); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
}
