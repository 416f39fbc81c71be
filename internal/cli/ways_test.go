package cli

import (
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/memory"
)

// Every command that looks at a process is the first that the kernel ends where memory runs out.
func TestWhoTakesAProcessEndsFirst(t *testing.T) {
	for _, c := range newRootCommand(Sys{}).Commands() {
		if series := c.Flags().Lookup("pid") != nil; series != slices.Contains(memory.Lookers, c.Name()) {
			t.Errorf("moonlap %s takes a process: %v; memory.Lookers says otherwise", c.Name(), series)
		}
	}
}
