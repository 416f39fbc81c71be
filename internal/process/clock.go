package process

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the CPU time that all the process's threads have used until now, to the nanosecond. The numbers of the clocks of
// processes are in the kernel's include/linux/posix-timers_types.h.
func (p *Process) CPU() (time.Duration, error) {
	const scheduler, shift = 2, 3 // CPUCLOCK_SCHED
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^p.PID)<<shift|scheduler, &now); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", p.PID, err)
	}
	return time.Duration(now.Nano()), nil
}
