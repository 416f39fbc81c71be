//go:build !linux || !amd64

package locks

import (
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/worker"
)

// Observe fails.
func (Kind) Observe(*worker.Worker, float64) (observe.Observer, error) {
	return nil, probe.ErrUnsupported
}
