package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A Fate tells how a process ended that is no child of this one's.
type Fate struct{ fd int }

// OpenFate holds on to a process that still runs. Close it afterwards.
func OpenFate(pid int) (*Fate, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("pidfd_open: %w", err)
	}
	return &Fate{fd}, nil
}

// End is how the process ended. It is not known before its parent has taken notice, and on Linux before 6.15
// (PIDFD_INFO_EXIT) never.
func (f *Fate) End() End {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(f.fd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return End{}
	}
	status := unix.WaitStatus(info.Exit_code)
	if status.Signaled() {
		return End{Known: true, Signal: unix.SignalName(status.Signal())}
	}
	return End{Known: true, Status: status.ExitStatus()}
}

// Close gives back what OpenFate took.
func (f *Fate) Close() error { return unix.Close(f.fd) }
