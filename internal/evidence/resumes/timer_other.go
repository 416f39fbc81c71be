//go:build !linux || !amd64

package resumes

import "github.com/moonlap/moonlap/internal/probe"

// timing fails.
func timing(*probe.Source, target) (timer, error) { return nil, probe.ErrUnsupported }
