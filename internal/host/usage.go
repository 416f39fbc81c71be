package host

import (
	"os"
	"strconv"
	"strings"
)

// Usage is what this machine's processors did since it started, in ticks of the kernel.
type Usage struct{ Busy, All float64 }

// ReadUsage reads it; zero where it cannot be read.
func ReadUsage() Usage {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Usage{}
	}
	return usageOf(string(text))
}

func usageOf(stat string) (u Usage) {
	const user, idle, wait, steal = 1, 4, 5, 8
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) <= steal || fields[0] != "cpu" {
		return u
	}
	for i := user; i <= steal; i++ { // what guests of ours used, behind it, is in user
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return Usage{}
		}
		u.All += n
		if i != idle && i != wait {
			u.Busy += n
		}
	}
	return u
}

// Share is the part of the time from one reading to another that the processors were busy, 0 where nothing passed.
func (u Usage) Share(before Usage) float64 {
	if u.All <= before.All {
		return 0
	}
	return max(0, min(1, (u.Busy-before.Busy)/(u.All-before.All)))
}
