package nginx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/process"
)

// Workers returns the process IDs of the nginx workers of this machine, as far as /proc shows them.
func Workers() ([]int, error) {
	pids, err := process.IDs()
	if err != nil {
		return nil, err
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool { return !strings.HasPrefix(titleOf(pid), "nginx: worker") })
	slices.Sort(pids)
	return pids, nil
}

// WorkersOf returns the workers of a master.
func WorkersOf(master int) ([]int, error) {
	if _, err := (&process.Process{PID: master}).Stat(); err != nil { // nor could its title be read
		return nil, err
	}
	if !strings.HasPrefix(titleOf(master), "nginx: master") {
		return nil, fmt.Errorf("process %d is not the master of an nginx: 'pgrep -a nginx' lists them", master)
	}
	all, err := Workers()
	if err != nil {
		return nil, err
	}
	workers := slices.DeleteFunc(all, func(pid int) bool { return process.Parent(pid) != master })
	if len(workers) == 0 {
		return nil, fmt.Errorf("the nginx of master %d has no workers", master)
	}
	return workers, nil
}

func titleOf(pid int) string { return (&process.Process{PID: pid}).Title() }
