package probe

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/process"
)

// trapped allocates N times, or rather does as if.
func trapped(times uint64)

// trapAddress is where trapped would be probed.
func trapAddress() uintptr

// threadTime is the CPU time that this thread has used.
func threadTime() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		return 0, fmt.Errorf("CPU time of this thread: %w", err)
	}
	return time.Duration(now.Nano()), nil
}

// trapTime is how much longer a function takes this process when it is probed: the way into the kernel, its programs, and the way
// out. attach has it probed, at an offset of a file.
func trapTime(attach func(pid int, file string, offset uint64) (detach func(), err error)) (time.Duration, error) {
	file, offset, err := trapPlace()
	if err != nil {
		return 0, fmt.Errorf("what a trap costs: %w", err)
	}
	detach, err := attach(os.Getpid(), file, offset)
	defer detach()
	if err != nil {
		return 0, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const times, rounds = 200, 41
	var all []time.Duration
	for range rounds {
		time.Sleep(time.Millisecond) // what disturbs one round may last, and shall not disturb them all
		start, err := threadTime()
		if err != nil {
			return 0, err
		}
		trapped(times)
		end, err := threadTime()
		if err != nil {
			return 0, err
		}
		all = append(all, (end-start)/times)
	}
	return shortest(all), nil
}

// trapPlace is where trapAddress lies in a file.
func trapPlace() (file string, offset uint64, err error) {
	self, err := process.Open(os.Getpid())
	if err != nil {
		return "", 0, err
	}
	defer self.Close()
	at := uint64(trapAddress())
	m, ok := self.Mapped(at)
	if !ok {
		return "", 0, fmt.Errorf("no file is mapped at %#x", at)
	}
	return "/proc/self/exe", at - m.Start + m.Offset, nil
}

// shortest is what a trap costs where nothing disturbs it: other processes and other machines, and a processor that has just
// woken up, make rounds longer, and never shorter. A single round may be odd, so it is the third shortest.
func shortest(rounds []time.Duration) time.Duration {
	slices.Sort(rounds)
	return rounds[min(2, len(rounds)-1)]
}
