package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
)

var background = context.Background()

// newStore is an empty one in a folder whose name has all that a URI minds.
func newStore(t testing.TB) *Store {
	t.Helper()
	return storeIn(filepath.Join(t.TempDir(), "a b?c#d%e", "history.db"))
}

func storeIn(path string) *Store {
	return &Store{Path: path, Patience: 200 * time.Millisecond, Summarize: stat.Summarize}
}

// A tester is a test, rapid's too.
type tester interface {
	Helper()
	Fatal(args ...any)
}

// A made run: what a test says of it, the rest is always the same.
type made struct {
	name, file string
	at         int // seconds after midnight
	commit     string
	governor   string
	cases      map[string]float64 // ns per call; 0: its process said nothing
	core       float64            // ns that the yardstick of the core took; 0: there was none
	best       float64            // ns, the best of it that was known before
}

func (m made) lines() []record.Line {
	lines := []record.Line{
		record.Run{
			Schema: record.Schema, Kind: "bench", SavedAs: m.name, File: m.file,
			Started:     time.Date(2026, 11, 21, 1, 0, m.at, 0, time.FixedZone("", 3600)).Format(time.RFC3339),
			Environment: record.Environment{CPU: "Xeon", Cores: 2, Governor: m.governor, GitCommit: m.commit},
			Yardsticks:  map[string]float64{"core": m.best},
		},
		record.Runtime{Kind: "luajit", Version: "LuaJIT 2.1"},
	}
	number := 0
	for name := range m.cases {
		lines = append(lines, record.Case{Case: number, Name: name, Benchmark: name, Runtime: "luajit", GC: "natural"})
		number++
	}
	process := 0
	for number, l := range lines[2:] {
		ns := m.cases[l.(record.Case).Name]
		for i := range 6 {
			in := record.In{Process: process}
			process++
			lines = append(lines, record.Process{In: in, Case: number, VM: record.VM{Version: "LuaJIT 2.1", JIT: true}})
			if ns > 0 {
				b := record.Batches{In: in, Kind: record.Measure}
				for j := range 40 {
					b.Calls, b.NS = append(b.Calls, 1000), append(b.NS, 1000*ns*(1+0.001*float64((i+j)%5)))
				}
				if m.core > 0 {
					b.Yardsticks = map[string][]float64{"core": slices.Repeat([]float64{m.core}, len(b.NS)+1)}
				}
				lines = append(lines, b)
			}
			lines = append(lines, record.Finish{In: in, Stop: "time"}, record.Exit{Process: in.Process})
		}
	}
	return append(lines, record.End{Reason: "complete"})
}

func (m made) draft(t tester) *Draft {
	t.Helper()
	d := NewDraft()
	for _, l := range m.lines() {
		if err := d.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func keep(t tester, s *Store, m made) string {
	t.Helper()
	path, err := s.Keep(background, m.draft(t))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A machine that became slower is no step of the code, whether the runs knew of it or each took its own best for quiet; a
// step beyond that is one. A best that was measured wrong says nothing.
func TestHistoryAllowsForTheMachine(t *testing.T) {
	for _, c := range []struct {
		name       string
		core, best float64 // of the second half of the runs
		ns         float64
		firstBest  float64 // of the very first run
		slowed     float64
		steps      int
	}{
		{"the same machine", 1000, 0, 130, 0, 0, 1},
		{"moved to a slower host", 1300, 0, 130, 0, 0.3, 0},
		{"disturbed all the time, as was known", 1300, 1000, 130, 0, 0.3, 0},
		{"and the code became slower too", 1300, 0, 200, 0, 0.3, 1},
		{"a best that was wrong", 1000, 0, 130, 100, 0, 1},
	} {
		s := newStore(t)
		for at := range 12 {
			m := made{name: "main", file: "app.lua", at: at, cases: map[string]float64{"concat": 100}, core: 1000}
			if at >= 6 {
				m.core, m.best, m.cases["concat"] = c.core, c.best, c.ns
			} else if at == 0 {
				m.best = c.firstBest
			}
			keep(t, s, m)
		}
		h, err := s.History(background, "concat")
		if err != nil {
			t.Fatal(err)
		}
		points := h.Series[0].Points
		if last := points[len(points)-1].Slowed; math.Abs(last-c.slowed) > 0.02 || points[5].Slowed != 0 {
			t.Errorf("%s: slowed by %g and before by %g, want %g and 0", c.name, last, points[5].Slowed, c.slowed)
		}
		if len(h.Series[0].Steps) != c.steps {
			t.Errorf("%s: %d steps", c.name, len(h.Series[0].Steps))
		}
	}
}

func TestKeepAndHistory(t *testing.T) {
	s := newStore(t)
	if _, err := s.History(background, ""); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty store: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(s.Path)); err == nil {
		t.Error("looking at an empty store made it")
	}
	keep(t, s, made{name: "main", file: "x/app.lua", at: 2, commit: "bbb", cases: map[string]float64{"concat": 200, "none": 0}})
	keep(t, s, made{name: "main", file: "app.lua", at: 1, commit: "aaa", cases: map[string]float64{"concat": 100}})
	keep(t, s, made{name: "work", file: "app.lua", at: 3, governor: "powersave", cases: map[string]float64{"concat": 300}})
	h, err := s.History(background, "concat")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, series := range h.Series {
		line := series.Case + " " + series.File + ":"
		for _, p := range series.Points {
			line += fmt.Sprintf(" %s@%s %.0f", p.SavedAs, p.Commit, p.NSPerCall.Estimate)
			if !(p.NSPerCall.Low <= p.NSPerCall.Estimate && p.NSPerCall.Estimate <= p.NSPerCall.High) || p.Processes != 6 {
				t.Errorf("%+v", p)
			}
		}
		got = append(got, line)
	}
	// Series with the newest run come first; their points are in order of time.
	if diff := cmp.Diff([]string{"concat app.lua: work@ 301", "concat app.lua: main@aaa 100 main@bbb 200"}, got); diff != "" {
		t.Error(diff)
	}
	names := []record.SavedName{
		{Name: "work", Runs: 1, Last: "2026-11-21T00:00:03.000Z", Files: []string{"app.lua"}},
		{Name: "main", Runs: 2, Last: "2026-11-21T00:00:02.000Z", Files: []string{"app.lua"}},
	}
	if diff := cmp.Diff(names, h.Names); diff != "" {
		t.Error(diff)
	}
	var none *UnknownError
	if _, err := s.History(background, "conc"); !errors.As(err, &none) || err.Error() != `the history has no case "conc"; it has concat, none` {
		t.Errorf("an unknown case: %v", err)
	}
	h, err = s.History(background, "none")
	if err != nil || len(h.Series) != 1 || h.Series[0].Points[0].NSPerCall != nil {
		t.Errorf("a case without a figure: %+v, %v", h, err)
	}
}

func TestStepsInHistory(t *testing.T) {
	s := newStore(t)
	for i, ns := range []float64{100, 101, 0, 100, 150, 151, 150} {
		keep(t, s, made{name: "main", at: i, cases: map[string]float64{"a": ns}})
	}
	h, err := s.History(background, "a")
	if err != nil {
		t.Fatal(err)
	}
	// The index of the step counts the run without a figure.
	if steps := h.Series[0].Steps; len(steps) != 1 || steps[0].At != 4 || !(steps[0].Ratio.Low > 1.4 && steps[0].Ratio.High < 1.6) {
		t.Errorf("steps %v", steps)
	}
}

func TestBaseline(t *testing.T) {
	s := newStore(t)
	if _, err := s.Baseline(background, "main", "app.lua", "bench"); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty store: %v", err)
	}
	keep(t, s, made{name: "main", file: "app.lua", at: 2, commit: "new", cases: map[string]float64{"a": 1}})
	keep(t, s, made{name: "main", file: "app.lua", at: 1, commit: "old", cases: map[string]float64{"a": 1}})
	keep(t, s, made{name: "main", file: "other.lua", at: 3, commit: "other", cases: map[string]float64{"a": 1}})
	rec, err := s.Baseline(background, "main", "./bench/app.lua", "bench")
	if err != nil || rec.Run.Environment.GitCommit != "new" {
		t.Errorf("not the newest run of the file: %+v, %v", rec, err)
	}
	for _, c := range []struct{ name, file, want string }{
		{"trunk", "app.lua", `the history has no baseline "trunk"; it has main`},
		{"main", "b.lua", `the baseline "main" has no run of b.lua, but of app.lua, other.lua; make one with --save main`},
		{"main", "", `the baseline "main" has no run of -e CODE; make one with --save main`},
	} {
		if _, err := s.Baseline(background, c.name, c.file, "bench"); err == nil || err.Error() != c.want {
			t.Errorf("%s of %q: %v", c.name, c.file, err)
		}
	}
}

func TestDelete(t *testing.T) {
	s := newStore(t)
	keep(t, s, made{name: "main", at: 1, cases: map[string]float64{"a": 1}})
	gone := []string{
		keep(t, s, made{name: "work", at: 2, cases: map[string]float64{"a": 1}}),
		keep(t, s, made{name: "work", at: 3, governor: "x", cases: map[string]float64{"a": 1}}),
	}
	if n, err := s.Delete(background, "work"); n != 2 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	for _, path := range gone {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", path)
		}
	}
	h, err := s.History(background, "")
	if err != nil || len(h.Series) != 1 || len(h.Series[0].Points) != 1 || len(h.Names) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := s.Delete(background, "work"); err == nil || !strings.Contains(err.Error(), "it has main") {
		t.Errorf("deleted twice: %v", err)
	}
}

// Records are stored once: the same run kept twice is one.
func TestKeepTwice(t *testing.T) {
	s := newStore(t)
	m := made{name: "main", cases: map[string]float64{"a": 1}}
	d := m.draft(t)
	first, err := s.Keep(background, d)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Keep(background, d)
	if err != nil || first != second {
		t.Errorf("%s, then %s, %v", first, second, err)
	}
	b, err := os.ReadFile(first)
	if err != nil || !bytes.Equal(b, d.packed.Bytes()) {
		t.Errorf("the record is not what was drafted: %v", err)
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct{ data, home, want string }{
		{"/data", "/home/x", "/data/moonlap/history.db"},
		{"", "/home/x", "/home/x/.local/share/moonlap/history.db"},
		{"relative", "/home/x", "/home/x/.local/share/moonlap/history.db"},
		{"", "", ""},
	} {
		got, err := Place(func(name string) string { return map[string]string{"XDG_DATA_HOME": c.data, "HOME": c.home}[name] })
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// dump is all that the index holds.
func dump(t tester, s *Store) string {
	t.Helper()
	var all strings.Builder
	err := s.read(background, func(db *index) error {
		for _, query := range []string{
			"SELECT json_array(record, name, kind, file, started, commit_, dirty) FROM runs ORDER BY 1",
			"SELECT json_array(id, facts) FROM settings ORDER BY 1",
			"SELECT json_array(record, number, name, setting, ns, low, high, processes) FROM cases ORDER BY 1",
		} {
			lines, err := column(db, query)
			if err != nil {
				return err
			}
			all.WriteString(strings.Join(keys(lines), "\n") + "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestBaselineToCome: a run of a machine whose clock is ahead stays the newest for as long. That is said.
func TestBaselineToCome(t *testing.T) {
	s := newStore(t)
	var said []string
	s.Note = func(text string) { said = append(said, text) }
	keep(t, s, made{name: "main", at: 1, cases: map[string]float64{"a": 1}})
	if _, err := s.Baseline(background, "main", "", "bench"); err != nil {
		t.Errorf("%v, %q", err, said)
	}
	said = nil
	years := int(time.Since(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)).Hours()/24/365) + 2
	keep(t, s, made{name: "main", at: years * 365 * 24 * 3600, cases: map[string]float64{"a": 2}})
	if _, err := s.Baseline(background, "main", "", "bench"); err != nil || len(said) != 1 || !strings.Contains(said[0], "which is to come: a clock is wrong") {
		t.Errorf("%v, %q", err, said)
	}
}
