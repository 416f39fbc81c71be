package lap

// yardsticksKnown: there is machine code for them.
const yardsticksKnown = true

// coreTicks runs the core's piece of work, once untimed, and returns the counter's ticks that it took.
func coreTicks(untimed, turns int32) (ticks int32)

// cacheTicks does so with the cache's, which reads a page.
//
//go:noescape
func cacheTicks(page *byte, untimed, turns int32) (ticks int32)
