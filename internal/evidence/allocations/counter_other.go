//go:build !linux || !amd64

package allocations

import "github.com/moonlap/moonlap/internal/probe"

// openCounter fails.
func openCounter(*probe.Source, counterTarget) (counter, error) { return nil, probe.ErrUnsupported }
