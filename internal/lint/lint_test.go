package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// luajit is the machine's. Without one the test is skipped, unless MOONLAP_TEST_REQUIRE_ALL is set.
func luajit(t *testing.T) record.Runtime {
	t.Helper()
	found, err := runtime.Find(t.Context(), runtime.LuaJIT, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return found
}

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// told are a report's findings as "rule line", faults as errors.
func told(t *testing.T, folder string, r *Report) (findings, faults []string) {
	t.Helper()
	r.Rank()
	for _, f := range r.Findings {
		findings = append(findings, fmt.Sprintf("%s %s:%d:%d", f.Rule, strings.TrimPrefix(f.File, folder+"/"), f.Line, f.Column))
	}
	for _, f := range r.Faults {
		faults = append(faults, strings.ReplaceAll(f.Error(), folder+"/", ""))
	}
	return findings, faults
}

// TestCases: in testdata/cases "--> rule" in a comment marks each line where a rule speaks, and no other does.
func TestCases(t *testing.T) {
	vm := luajit(t)
	report, err := Run(t.Context(), Options{LuaJIT: vm, Paths: []string{"testdata/cases"},
		Settings: &Settings{Root: "."}, Rules: BuiltIn(), Class: Request})
	if err != nil {
		t.Fatal(err)
	}
	report.Apply(Shipped(), func(rule string) bool { return !strings.HasPrefix(rule, "myth-") })
	got, faults := told(t, "testdata/cases", report)
	if len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	places := map[string]bool{}
	for _, f := range got {
		place, _, _ := strings.Cut(f, ":")
		line, _, _ := strings.Cut(f[len(place)+1:], ":")
		if !strings.HasPrefix(f, "myth-") {
			places[place+":"+line] = true
		}
	}
	cases, _ := filepath.Glob("testdata/cases/*.*")
	for _, file := range cases {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			_, wanted, _ := strings.Cut(line, "--> ")
			for _, rule := range strings.Fields(strings.ReplaceAll(wanted, ",", " ")) {
				key := fmt.Sprintf("%s %s:%d", rule, filepath.Base(file), i+1)
				if !places[key] {
					t.Errorf("missing: %s  %s", key, line)
				}
				delete(places, key)
			}
		}
	}
	for place := range places {
		t.Errorf("not wanted: %s", place)
	}
}

// TestPairs: each rule finds its bad file, and finds nothing in its good one.
func TestPairs(t *testing.T) {
	vm := luajit(t)
	folder := t.TempDir()
	all := BuiltIn()
	if len(all) < 20 {
		t.Fatalf("there are %d rules", len(all))
	}
	files := map[string]string{}
	for _, r := range all {
		ext := "lua"
		if r.Conf {
			ext = "nginx.conf"
		}
		files[r.Name+"/bad."+ext], files[r.Name+"/good."+ext] = r.Bad, r.Good
		for _, word := range []string{"Found", "From"} {
			if r.Fact(word) == "" {
				t.Errorf("rules/%s/about.md has no line that begins with %q", r.Name, word+": ")
			}
		}
		if !strings.Contains(r.About, "\nNot a problem: ") || r.Bad == "" && r.Good != "" {
			if !strings.HasPrefix(r.Name, "myth-") {
				t.Errorf("rules/%s does not say when it is not a problem", r.Name)
			}
		}
	}
	write(t, folder, files)
	report, err := Run(t.Context(), Options{LuaJIT: vm, Paths: []string{folder}, Settings: &Settings{Root: folder}, Rules: all,
		Class: Request})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Faults) > 0 {
		t.Errorf("%v", report.Faults)
	}
	fired := map[string]bool{}
	for _, f := range report.Findings {
		fired[f.Rule+" in "+strings.TrimPrefix(f.File, folder+"/")] = true
	}
	for _, r := range all {
		ext := "lua"
		if r.Conf {
			ext = "nginx.conf"
		}
		if r.Bad != "" && !fired[r.Name+" in "+r.Name+"/bad."+ext] {
			t.Errorf("%s is silent on its bad file", r.Name)
		}
		if fired[r.Name+" in "+r.Name+"/good."+ext] {
			t.Errorf("%s fires on its good file", r.Name)
		}
	}
}
