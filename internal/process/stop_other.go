//go:build !(linux && amd64)

package process

import (
	"fmt"
	"runtime"
)

func (p *Process) stopped(func(Registers) error) error {
	return fmt.Errorf("looking into a process works on Linux on x86-64 only, not on %s/%s",
		runtime.GOOS, runtime.GOARCH)
}
