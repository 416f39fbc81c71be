package lap

import (
	"os"
	"strings"
)

const counterName = "tsc"

// counter reads the time-stamp counter. It is not fenced: a fence would double its
// cost. The processor may so move instructions across a lap's edge, but what one
// lap loses the next one gains.
func counter() int64

func cpuid(leaf uint32) (eax, edx uint32)

// counterUsable: the counter runs at one speed whatever the core's frequency and
// sleep, by its own word or, in a virtual machine that hides this, by the kernel's.
func counterUsable() bool {
	const powerManagement, invariant = 0x80000007, 1 << 8
	if highest, _ := cpuid(0x80000000); highest >= powerManagement {
		if _, edx := cpuid(powerManagement); edx&invariant != 0 {
			return true
		}
	}
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(source)) == "tsc"
}
