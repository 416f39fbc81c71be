package process

import (
	"os"
	"path/filepath"
	"strings"
)

// leaveFreezer moves this process to the root of the freezer of cgroups version 1, which cannot be frozen. What that freezes
// cannot even be killed. In a container that may not change cgroups, the process stays.
func leaveFreezer() {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		const folder, kind, options = 1, 2, 3
		f := strings.Fields(line)
		if len(f) > options && f[kind] == "cgroup" && strings.Contains(","+f[options]+",", ",freezer,") {
			os.WriteFile(filepath.Join(f[folder], "cgroup.procs"), []byte("0"), 0) // itself
			return
		}
	}
}
