package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestFleetFigures measures what benchmarks/fleet tells of --on. It runs where MOONLAP_FLEET_FIGURES asks for it.
func TestFleetFigures(t *testing.T) {
	if os.Getenv("MOONLAP_FLEET_FIGURES") == "" {
		t.Skip("figures, not a test: make fleet-figures")
	}
	testscript.Run(t, scripts(t, "testdata/fleet"))
}

// timesMeasured is how often each way is measured.
const timesMeasured = 7

// overhead is the script command `overhead NAME COMMAND…`: it runs a bench again and again, and says how long after the command
// the first sample of the first and the last host came, in the median of all runs.
func overhead(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: overhead NAME COMMAND…")
	}
	var first, last []float64
	for i := range timesMeasured {
		out := fmt.Sprintf("kept/%s.%d.jsonl", args[0], i)
		cmd := scriptCommand(ts, append(args[1:], "--runtime", "luajit", "--time", "1m", "--out", out, "once.lua"))
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		began := time.Now()
		ts.Check(cmd.Start())
		when := firstSamples(ts.MkAbs("kept"), fmt.Sprintf("%s.%d.*jsonl", args[0], i), began)
		cmd.Process.Signal(syscall.SIGINT)
		cmd.Wait()
		if len(when) == 0 {
			ts.Fatalf("%s: no sample came\n%s", args[0], &said)
		}
		first, last = append(first, when[0].Seconds()), append(last, when[len(when)-1].Seconds())
	}
	slices.Sort(first)
	slices.Sort(last)
	at := func(list []float64) string {
		return fmt.Sprintf("%.2f (%.2f–%.2f)", list[len(list)/2], list[0], list[len(list)-1])
	}
	ts.Logf("| %s | %s | %s |", args[0], at(first), at(last))
}

// firstSamples is when the first sample of each record stood in its file, since began, in order. It waits for all.
func firstSamples(folder, pattern string, began time.Time) (when []time.Duration) {
	seen := map[string]bool{}
	for end := began.Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		paths, _ := filepath.Glob(filepath.Join(folder, pattern))
		for _, path := range paths {
			text, _ := os.ReadFile(path)
			if !seen[path] && bytes.Contains(text, []byte(`"type":"batches"`)) {
				seen[path] = true
				when = append(when, time.Since(began))
			}
		}
		if len(paths) > 0 && len(when) == len(paths) {
			return when
		}
	}
	return nil
}
