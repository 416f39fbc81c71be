//go:build !linux || !amd64

package locks

import (
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
)

// observeLocks fails.
func observeLocks(observe.At) (observe.Observer, error) {
	return nil, probe.ErrUnsupported
}
