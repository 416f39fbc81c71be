package heap

import (
	"os"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// TestExpect: where the arrays that are used in no order do not fit into memory, a note before the worker is stopped says
// how much that takes, how much there is, and how much goes into the folder. Where they fit, there is none.
func TestExpect(t *testing.T) {
	w := &worker.Worker{Process: &process.Process{PID: os.Getpid()}}
	var notes []string
	o := Options{Spill: "/spill", Note: func(text string) { notes = append(notes, text) }}
	o.expect(w, 1000, 1<<20)
	if len(notes) > 0 {
		t.Errorf("1,000 objects: %q", notes)
	}
	o.expect(w, 1<<40, 1<<50)
	if len(notes) != 1 {
		t.Fatalf("%q", notes)
	}
	for _, want := range []string{"8796 GB", "to spare", "1125899 GB in /spill", "may take very long"} {
		if !strings.Contains(notes[0], want) {
			t.Errorf("%q is not in %q", want, notes[0])
		}
	}
}
