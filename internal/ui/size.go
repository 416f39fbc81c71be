package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A sizeUnit is a suffix, and how many bytes it counts.
type sizeUnit struct {
	suffix string
	bytes  float64
}

// sizeUnits are from the largest to the smallest; a suffix comes before those that it ends in.
var sizeUnits = []sizeUnit{
	{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3},
	{"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"B", 1}, {"", 1},
}

// ParseSize reads a number of bytes as flags and conditions take it: 512MiB, 1.5GB, 4096.
func ParseSize(text string) (int64, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		digits = strings.TrimSpace(digits)
		x, err := strconv.ParseFloat(digits, 64)
		bytes := math.Round(x * u.bytes)
		if err != nil || strings.Trim(digits, "0123456789.") != "" || !(bytes < 1<<62) || digits != "0" && bytes == 0 {
			break
		}
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return n * int64(u.bytes), nil // exact also beyond what a float64 holds
		}
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("a size such as 512MiB or 2GiB, not %q", text)
}

// FormatSize is what ParseSize takes, in the largest unit without a fraction.
func FormatSize(bytes int64) string {
	if bytes == 0 {
		return "0"
	}
	i := slices.IndexFunc(sizeUnits, func(u sizeUnit) bool { return bytes%int64(u.bytes) == 0 })
	return strconv.FormatInt(bytes/int64(sizeUnits[i].bytes), 10) + sizeUnits[i].suffix
}
