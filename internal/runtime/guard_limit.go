package runtime

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Whatever a program does to its environment, its session and its parents, it keeps the limits that it was started with; so
// what we start has a number of ours as one that limits nothing: how many µs of a CPU a real-time thread may take. It is the soft
// limit. Where another moonlap has started us, its number becomes the hard limit, so what we start has both; of three, one in
// the other, the middle one's is lost.
const (
	limitMark   = unix.RLIMIT_RTTIME
	leastMark   = 1 << 61 // 73,000 years
	outerMark   = 1 << 62 // from here on they are of a moonlap that no other has started
	unlimited   = ^uint64(0)
	limitMarked = "Max realtime timeout" // in /proc/PID/limits
)

// limits has our number. It is 0 where the limit may not be set so high.
var limits = sync.OnceValue(func() uint64 {
	var own unix.Rlimit
	switch {
	case unix.Prlimit(0, limitMark, nil, &own) != nil, own.Max < outerMark, own.Cur < leastMark:
		return 0
	case own.Cur == unlimited:
		return outerMark + rand.Uint64N(outerMark)
	}
	return leastMark + rand.Uint64N(leastMark) // another moonlap has started us
})

var limiting sync.Mutex

// withLimit starts a program that has our number. Others that are started in this moment may have it, too.
func withLimit(start func() error) error {
	number := limits()
	if number == 0 {
		return start()
	}
	limiting.Lock()
	defer limiting.Unlock()
	var own unix.Rlimit
	if unix.Prlimit(0, limitMark, nil, &own) != nil {
		return start()
	}
	if own.Cur != unlimited && own.Max == unlimited {
		own.Max = own.Cur // who has lowered it cannot raise it
	}
	theirs := unix.Rlimit{Cur: number, Max: own.Max}
	if unix.Prlimit(0, limitMark, &theirs, nil) == nil {
		defer unix.Prlimit(0, limitMark, &own, nil)
	}
	return start()
}

// StartGuarded starts a program so that it, and whatever it starts, can be given to [Guard].
func StartGuarded(cmd *exec.Cmd) error { return withLimit(cmd.Start) }

// hasLimit reports whether a process has the number.
func hasLimit(pid int, number uint64) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	return err == nil && number != 0 && hasNumber(text, number)
}

// hasNumber reports whether the number is one of the two in /proc/PID/limits.
func hasNumber(text []byte, number uint64) bool {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(limitMarked)); ok {
			for field := range bytes.FieldsSeq(rest) {
				if n, err := strconv.ParseUint(string(field), 10, 64); err == nil && n == number {
					return true
				}
			}
		}
	}
	return false
}
