package process

import (
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// guard makes this process one that undoes what moonlap has done to a worker, whatever happens to moonlap. It is a small one,
// which moonlap has started in a session of its own. It goes on where moonlap is suspended or frozen, on a thread that goes
// before others; and its timer ends it, by the kernel, where it cannot do anything itself.
func guard() (killTimer, error) {
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	runtime.LockOSThread()
	Hurry()
	unhindered()
	leaveFreezer()
	return newKillTimer()
}

// Guard is guard for other packages. extend sets the timer anew; 0 stops it.
func Guard() (extend func(time.Duration), err error) {
	timer, err := guard()
	return timer.set, err
}
