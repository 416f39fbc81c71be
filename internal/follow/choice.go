// Package follow chooses workers, opens them, and follows them through reloads.
package follow

import (
	"errors"
	"slices"

	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
)

// A Choice says which nginx workers a command is about: one of its fields.
type Choice struct {
	PIDs   []int
	Master int  // all of the nginx with this master
	All    bool // all of this machine
}

// Find returns the process IDs of the workers there are now.
func (c *Choice) Find() ([]int, error) {
	switch {
	case c.All:
		pids, err := nginx.Workers()
		if err == nil && len(pids) == 0 {
			err = errors.New("no nginx worker runs on this machine")
		}
		return pids, err
	case c.Master != 0:
		return nginx.WorkersOf(c.Master)
	}
	return slices.Compact(slices.Sorted(slices.Values(c.PIDs))), nil
}

// Expects reports whether other workers may come.
func (c *Choice) Expects() bool {
	return c.All || c.Master != 0 && !(&process.Process{PID: c.Master}).Ended()
}
