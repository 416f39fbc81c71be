package lap

import (
	"math/bits"
	"syscall"
	"unsafe"
)

// Go's own monotonic clock moves in steps of up to 15 ms on Windows; the performance
// counter's are 100 ns or finer.
var (
	kernel32 = syscall.NewLazyDLL("kernel32.dll")
	query    = kernel32.NewProc("QueryPerformanceCounter")
	hertz    = readHertz()
)

func readHertz() uint64 {
	var hertz int64
	kernel32.NewProc("QueryPerformanceFrequency").Call(uintptr(unsafe.Pointer(&hertz)))
	return uint64(hertz)
}

// now is the monotonic clock in ns.
func now() int64 {
	var count int64
	query.Call(uintptr(unsafe.Pointer(&count)))
	high, low := bits.Mul64(uint64(count), 1e9) // 64 bits would overflow after half an hour at 10 MHz
	ns, _ := bits.Div64(high, low, hertz)
	return int64(ns)
}
