package resumes

import (
	"testing"

	"github.com/moonlap/moonlap/internal/probe/probetest"
)

func TestGenerated(t *testing.T) { probetest.Generated(t, "resumes") }
