package lap

const counterName = "tsc"

// counterSource is Linux's name of a clock made of the counter. A variable, so that a
// build may have the kernel's clock all the same: -ldflags "-X …/lap.counterSource=none".
var counterSource = "tsc"

// counter reads the time-stamp counter, unfenced.
func counter() int64

// fence lets no instruction after it begin before all before it are done. Without,
// the body of a lap would run at the same time as the reading before it, and the
// reading's cost would be in short laps but not in long ones.
func fence()

func cpuid(leaf uint32) (eax, edx uint32)

// counterUsable: the counter runs at one speed whatever the core's frequency and
// sleep, by its own word or, in a virtual machine that hides this, by the kernel's.
func counterUsable(source string) bool {
	const powerManagement, invariant = 0x80000007, 1 << 8
	if highest, _ := cpuid(0x80000000); highest >= powerManagement {
		if _, edx := cpuid(powerManagement); edx&invariant != 0 {
			return true
		}
	}
	return source == "tsc"
}
