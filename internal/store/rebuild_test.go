package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever was kept and deleted in whatever order: the index made anew is the same.
func TestRebuildIsTheSame(t *testing.T) {
	root := t.TempDir()
	stores := 0
	rapid.Check(t, func(t *rapid.T) {
		stores++
		s := storeIn(filepath.Join(root, fmt.Sprint(stores), "history.db"))
		name := rapid.SampledFrom([]string{"main", "work", "ünïcode ' name"})
		keep(t, s, drawRun(t, name))
		for range rapid.IntRange(0, 6).Draw(t, "operations") {
			switch rapid.SampledFrom([]string{"keep", "keep", "delete", "lose"}).Draw(t, "operation") {
			case "keep":
				keep(t, s, drawRun(t, name))
			case "delete":
				s.Delete(background, name.Draw(t, "deleted")) // there may be none
			case "lose": // a record goes behind the store's back
				files, _ := filepath.Glob(filepath.Join(s.folder(), "*"+recordSuffix))
				if len(files) > 0 {
					os.Remove(rapid.SampledFrom(files).Draw(t, "lost"))
				}
			}
		}
		before := dump(t, s)
		if _, err := s.Rebuild(background); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Error("rebuilt:", diff)
		}
		if err := os.Remove(s.Path); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Error("made from nothing:", diff)
		}
	})
}

func drawRun(t *rapid.T, name *rapid.Generator[string]) made {
	m := made{
		name: name.Draw(t, "name"), file: rapid.SampledFrom([]string{"", "app.lua", "x/app.lua"}).Draw(t, "file"),
		at:       rapid.IntRange(0, 86399).Draw(t, "at"),
		governor: rapid.SampledFrom([]string{"", "powersave"}).Draw(t, "governor"),
		cases:    map[string]float64{},
	}
	for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c/n=1"}), 1, 3, rapid.ID).Draw(t, "cases") {
		m.cases[c] = rapid.SampledFrom([]float64{0, 1, 100.5}).Draw(t, "ns")
	}
	return m
}

const (
	writerStore = "MOONLAP_TEST_STORE" // makes the test a writer to that store
	writerName  = "MOONLAP_TEST_NAME"
	writerRuns  = 8
)

// Several processes that write at once, the first of which makes the index, all succeed.
func TestWritersAtOnce(t *testing.T) {
	if path := os.Getenv(writerStore); path != "" {
		s := storeIn(path)
		s.Patience = time.Minute
		for i := range writerRuns {
			keep(t, s, made{name: os.Getenv(writerName), at: i, cases: map[string]float64{"a": 1}})
		}
		return
	}
	s := newStore(t)
	var writers []*exec.Cmd
	var outputs []*strings.Builder
	for i := range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWritersAtOnce$")
		cmd.Env = append(os.Environ(), writerStore+"="+s.Path, fmt.Sprintf("%s=writer %d", writerName, i))
		output := &strings.Builder{}
		cmd.Stdout, cmd.Stderr = output, output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		writers, outputs = append(writers, cmd), append(outputs, output)
	}
	for i, cmd := range writers {
		if err := cmd.Wait(); err != nil {
			t.Errorf("writer %d: %v\n%s", i, err, outputs[i])
		}
	}
	s.Patience = time.Minute
	before := dump(t, s)
	h, err := s.History(background, "a")
	if err != nil || len(h.Names) != 3 || len(h.Series) != 1 || len(h.Series[0].Points) != 3*writerRuns {
		t.Fatalf("%+v, %v", h, err)
	}
	if _, err := s.Rebuild(background); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, dump(t, s)); diff != "" {
		t.Error(diff)
	}
	if left, _ := filepath.Glob(filepath.Join(s.folder(), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What a killed moonlap left half written goes, what another one is writing stays.
func TestDrafts(t *testing.T) {
	s := newStore(t)
	keep(t, s, made{name: "main", cases: map[string]float64{"a": 1}})
	old, fresh := filepath.Join(s.folder(), ".moonlap-1.part"), filepath.Join(s.folder(), ".moonlap-2.part")
	write(t, old, "x")
	write(t, fresh, "x")
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*draftAge)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.History(background, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Error("the old draft is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("the fresh draft is gone")
	}
}
