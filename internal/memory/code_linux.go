package memory

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// keepCode has what this program has read of its own file stay in memory. In a memory cgroup that has nothing left the kernel would
// take those pages away and read them again, page by page and for minutes, in place of ending this program: all others in the cgroup
// would wait for memory as long. Where it fails, for want of CAP_IPC_LOCK, that can happen.
var keepCode = sync.OnceFunc(func() {
	file, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || strings.Contains(fields[1], "w") || !strings.HasSuffix(strings.TrimSuffix(line, "\n"), " "+file) {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err != nil || err2 != nil {
			continue
		}
		const onFault = 1 // MLOCK_ONFAULT: nothing is read that is not needed
		unix.Syscall(unix.SYS_MLOCK2, uintptr(start), uintptr(end-start), onFault)
	}
})
