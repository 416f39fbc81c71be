package cli

import (
	"slices"
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
			if err := checkFlags(cmd.Name(), cmd.Flags()); err == nil || !strings.Contains(err.Error(), "did you mean json?") && cmd.Name() != "plot" {
				t.Errorf("%s --format jsn: %v", cmd.Name(), err)
			}
		}
	}
}

// someValue is a value that a flag takes.
func someValue(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true"
	case "duration", "DURATION":
		return "1s"
	case "PERCENT":
		return "1%"
	}
	return "7"
}

// TestRefusals: what the table has of a command, its flags have; each conflict and each missing flag is refused, whichever is first,
// and the usual values are within their bounds. A flag of the environment gives way to one of the command line.
func TestRefusals(t *testing.T) {
	env := map[string]string{}
	commands := func() map[string]*pflag.FlagSet {
		all := map[string]*pflag.FlagSet{}
		for _, cmd := range newRootCommand(Sys{Getenv: func(string) string { return "" }}).Commands() {
			all[cmd.Name()] = cmd.Flags()
		}
		return all
	}
	set := func(command string, names ...string) error {
		flags := commands()[command]
		for _, name := range names {
			if f := flags.Lookup(name); f == nil {
				t.Errorf("%s has no --%s", command, name)
			} else if err := flags.Set(name, someValue(f)); err != nil {
				t.Errorf("%s --%s: %v", command, name, err)
			}
		}
		if err := flagsFromEnvironment(flags, func(name string) string { return env[name] }); err != nil {
			t.Error(err)
		}
		return checkFlags(command, flags)
	}
	for _, r := range flagRules {
		for command, names := range r.conflicts {
			for _, name := range names {
				if command == "" {
					command = "profile"
				}
				if err := set(command, r.name, name); err == nil || !strings.Contains(err.Error(), "not both") {
					t.Errorf("%s --%s --%s: %v", command, r.name, name, err)
				}
			}
		}
		for command := range r.needs {
			if command == "" {
				command = "bench"
			}
			if err := set(command, r.name); err == nil || !strings.Contains(err.Error(), " goes with -") {
				t.Errorf("%s --%s: %v", command, r.name, err)
			}
		}
		for command, flags := range commands() {
			f := flags.Lookup(r.name)
			b, ok := r.bounds.of(command)
			if !ok || f == nil || slices.Contains([]string{"", "0", "0s"}, f.DefValue) || f.DefValue[0] == '[' {
				continue
			}
			read, write := numbersOf(f.Value.Type())
			if x, err := read(f.DefValue); err != nil || !b.has(x) {
				t.Errorf("%s --%s is %s by default, and must be %s", command, r.name, f.DefValue, b.text(write))
			}
		}
	}
	for _, names := range [][]string{{"locks", "resumes"}, {"allocations", "locks"}, {"wall", "allocations"}, {"off-cpu", "on-cpu"}} {
		if err := set("profile", names...); err == nil || !strings.Contains(err.Error(), "not both") {
			t.Errorf("%v: %v", names, err)
		}
	}
	if err := set("watch", "locks", "capture"); err == nil {
		t.Error("a kind of evidence beside captures")
	}
	env["MOONLAP_RAMP"], env["MOONLAP_CERT"] = "1..2", "x"
	if err := set("load", "steps"); err != nil {
		t.Errorf("the environment does not give way: %v", err)
	}
}

// TestBounds: what is out of bounds is refused in the flag's own unit.
func TestBounds(t *testing.T) {
	for _, test := range []struct{ command, flag, value, want string }{
		{"watch", "keep", "500ms", "--keep must be from 1s to 5m"},
		{"watch", "after", "6m", "--after must be from 500ms to 5m"},
		{"watch", "top", "1001", "--top must be from 1 to 1000"},
		{"watch", "budget", "101%", "--budget must be above 0% and at most 100%"},
		{"explain", "pause", "2s", "--pause must be above 0 and at most 1s"},
		{"load", "duration", "0", "-d must be above 0"},
		{"load", "slice", "5ms", "--slice must be at least 10ms"},
		{"bench", "workers", "1,257", "--workers must be from 1 to 256"},
		{"lint", "processes", "5", "--processes must be at least 6"},
	} {
		cmd, _, err := newRootCommand(Sys{}).Find([]string{test.command})
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Flags().Set(test.flag, test.value); err != nil {
			t.Fatal(err)
		}
		if f := cmd.Flags().Lookup("capture"); f != nil && test.command == "watch" && len(ruleOf(test.flag).needs) > 0 {
			cmd.Flags().Set("capture", "x")
		}
		if err := checkFlags(test.command, cmd.Flags()); err == nil || err.Error() != test.want {
			t.Errorf("%s --%s %s: %v, not %s", test.command, test.flag, test.value, err, test.want)
		}
	}
}
