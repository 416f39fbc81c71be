package stat

import (
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/steady"
)

func TestContendingWorkersAreNeverUnsteady(t *testing.T) {
	of := func(classes ...string) unit {
		var u unit
		for _, class := range classes {
			u.vms = append(u.vms, vm{own: Process{Steadiness: steady.Steadiness{Class: class}}})
		}
		return u
	}
	for _, c := range []struct {
		workers []string
		want    string
	}{
		{[]string{record.SteadyNone}, record.SteadyNone},
		{[]string{record.SteadyNone, record.SteadyNone}, record.SteadyFlat},
		{[]string{record.SteadyNone, record.SteadyWarmup}, record.SteadyWarmup},
		{[]string{record.SteadyFlat, record.SteadySlowdown}, record.SteadySlowdown},
	} {
		if got := of(c.workers...).class(); got != c.want {
			t.Errorf("workers %v: class %q, want %q", c.workers, got, c.want)
		}
	}
}
