package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"pgregory.net/rapid"
)

func TestSizeFlag(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "12B": 12, "3k": 3000, "2M": 2e6, "1G": 1e9,
		"3kB": 3000, "2MB": 2e6, "1.5GB": 15e8, "1 GiB": 1 << 30, "1.5GiB": 3 << 29, "4KiB": 4 << 10, "512MiB": 512 << 20, "2GiB": 2 << 30,
	} {
		var s sizeFlag
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%q is %d (%v), want %d", text, s, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "MiB", "1gib", "1KB", "1.2.3MB", "1e3", "NaN", "0.1B", "0x10", "9223372036854775807GiB", "4294967297GiB",
	} {
		s := sizeFlag(7)
		if err := s.Set(text); err == nil || s != 7 {
			t.Errorf("%q is taken for %d bytes", text, s)
		}
	}
}

// What a size prints as means the same size: it stands in the help as the default.
func TestSizeFlagReadsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := sizeFlag(rapid.Int64Range(1, 1<<40).Draw(t, "bytes") << rapid.IntRange(0, 20).Draw(t, "shift"))
		var got sizeFlag
		if err := got.Set(want.String()); err != nil || got != want {
			t.Fatalf("%d prints as %s, which is read as %d (%v)", int64(want), want.String(), int64(got), err)
		}
	})
	if s := sizeFlag(2 << 30); s.String() != "2GiB" {
		t.Errorf("2 GiB prints as %s", s.String())
	}
}

func TestLapsFlag(t *testing.T) {
	for _, test := range []struct {
		text string
		want lapsFlag
		bad  bool
	}{
		{"0", lapsFlag{on: true}, false}, // --laps alone
		{"true", lapsFlag{on: true}, false},
		{"1000", lapsFlag{on: true, count: 1000}, false},
		{"false", lapsFlag{}, false},
		{"-1", lapsFlag{count: 9}, true},
		{"1e3", lapsFlag{count: 9}, true},
		{"many", lapsFlag{count: 9}, true},
		{"", lapsFlag{count: 9}, true},
	} {
		got := lapsFlag{count: 9}
		err := got.Set(test.text)
		if got != test.want || (err != nil) != test.bad {
			t.Errorf("--laps=%s is %+v (%v), want %+v", test.text, got, err, test.want)
		}
	}
}

// TestFlagRules holds the table to the commands: each rule is of a flag that some command has, once.
func TestFlagRules(t *testing.T) {
	has := map[string]bool{}
	for _, cmd := range newRootCommand(Sys{}).Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { has[f.Name] = true })
	}
	seen := map[string]bool{}
	for _, r := range flagRules {
		if !has[r.name] || seen[r.name] {
			t.Errorf("--%s: no command has it, or it has two rules", r.name)
		}
		if seen[r.name] = true; r.alone && r.sides {
			t.Errorf("--%s cannot make sides where it has no meaning", r.name)
		}
	}
}

// TestFormats: each command with --format has its values in the table, or takes text and json as those with --json alone do; the
// help names each, and a value that is not there is refused by every command.
func TestFormats(t *testing.T) {
	for _, cmd := range newRootCommand(Sys{Getenv: func(string) string { return "" }}).Commands() {
		f := cmd.Flags().Lookup("format")
		if f == nil {
			continue
		}
		values := formatsOf[cmd.Name()]
		if _, both := f.Value.(*textOrJSON); both != (values == nil) {
			t.Errorf("%s --format: %v", cmd.Name(), values)
		}
		for _, value := range values {
			if !strings.Contains(f.Usage, value) {
				t.Errorf("the help of %s --format does not name %s: %s", cmd.Name(), value, f.Usage)
			}
		}
		if values != nil {
			cmd.Flags().Set("format", "jsn")
			if err := inTable(cmd.Name(), cmd.Flags()); err == nil || !strings.Contains(err.Error(), "did you mean json?") && cmd.Name() != "plot" {
				t.Errorf("%s --format jsn: %v", cmd.Name(), err)
			}
		}
	}
}
