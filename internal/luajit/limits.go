package luajit

// Limits are the compiler's parameters that end its work, as jit.opt.start sets them.
type Limits struct {
	Traces int    // maxtrace
	Side   int    // maxside: of one root trace
	Code   uint64 // maxmcode: bytes of all machine code areas
}

// findLimits finds the parameters (JIT_PARAMDEF of lj_jit.h, 32 bits each) by those that nobody has a reason to
// change: instunroll 4, loopunroll 15, callunroll 3 and recunroll 2. The zero Limits where they are not there, or twice.
func findLimits(state []uint64) (l Limits) {
	half := func(i int) int64 { return int64(int32(state[i/2] >> (32 * (i % 2)))) }
	const before, behind = 9, 6 // parameters before instunroll, and from it on
	found := 0
	for i := before; i+behind <= 2*len(state); i++ {
		if half(i) != 4 || half(i+1) != 15 || half(i+2) != 3 || half(i+3) != 2 {
			continue
		}
		traces, side, hot, size, code := half(i-9), half(i-6), half(i-3), half(i+4), half(i+5)
		const most = 1 << 21 // kB, the reach of a jump
		if traces < 1 || traces > maxTraces || side < 0 || hot < 1 || hot > maxTraces || size < 1 || code < 1 || code > most {
			continue
		}
		found++
		l = Limits{int(traces), int(side), uint64(code) << 10}
	}
	if found != 1 {
		return Limits{}
	}
	return l
}
