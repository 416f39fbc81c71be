package worker

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/process"
)

// All returns the process IDs of the nginx workers of this machine, as far as /proc shows them.
func All() ([]int, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		if title := titleOf(pid); strings.HasPrefix(title, "nginx: worker") {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, cmp.Compare)
	return pids, nil
}

// Of returns the workers of a master.
func Of(master int) ([]int, error) {
	if !strings.HasPrefix(titleOf(master), "nginx: master") {
		return nil, fmt.Errorf("process %d is not the master of an nginx: 'pgrep -a nginx' lists them", master)
	}
	all, err := All()
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
