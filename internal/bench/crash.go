package bench

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/record"
)

// explainCrash tells a process that crashed because its memory ran out from one that
// crashed for itself. LuaJIT throws "not enough memory", but older versions crash instead
// where compiled code allocates (LuaJIT/LuaJIT#1004, #1247). limit is the most memory of
// a process in bytes, 0 for none.
//
// A table that doubles asks for as much again as it holds, so half the limit is near it.
func explainCrash(f record.Fault, e record.Exit, limit int64) record.Fault {
	if limit <= 0 || e.MaxRSS < limit/2 {
		return f
	}
	f.Kind = record.FaultMemory
	f.Text += fmt.Sprintf("; it held %d MiB of the %d MiB that --memory allows, "+
		"and compiled code may crash where no more is given", e.MaxRSS>>20, limit>>20)
	return f
}
