package nginx

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is nginx's time now in milliseconds: that of the coarse clock where there is one.
func Monotonic() (uint64, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &now)
	return uint64(now.Nano() / int64(time.Millisecond)), err
}
