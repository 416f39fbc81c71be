package memory

import (
	"os"
	"slices"
)

// Lookers are the commands that look at other processes.
var Lookers = []string{"explain", "heap", "profile", "watch"}

// A command that looks is the first to end from its first moment on: to start alone takes megabytes, of a memory cgroup that
// may have none left. A command that it starts itself must not inherit that; then it waits until it has (see worker.Open).
func init() {
	if len(os.Args) > 1 && slices.Contains(Lookers, os.Args[1]) && !slices.Contains(os.Args, "--") {
		EndFirst()
		keepCode()
	}
}
