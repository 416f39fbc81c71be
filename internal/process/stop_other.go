//go:build !(linux && amd64)

package process

import (
	"fmt"
	"runtime"
	"time"
)

func isMainThread() bool { return false }

func (p *Process) stopped(time.Duration, func(Registers) error) (time.Duration, error) {
	return 0, fmt.Errorf("observing a process works on Linux on x86-64 only, not on %s/%s",
		runtime.GOOS, runtime.GOARCH)
}

type holding struct{}

func (p *Process) letGo() {}
