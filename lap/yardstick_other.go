//go:build !amd64

package lap

const yardsticksKnown = false

func coreTicks(untimed, turns int32) (ticks int32) { return 0 }

func cacheTicks(page *byte, untimed, turns int32) (ticks int32) { return 0 }
