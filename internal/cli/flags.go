package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// lapsFlag is --laps, or --laps=N.
type lapsFlag struct {
	on    bool
	count int
}

func (l *lapsFlag) Set(s string) error {
	switch s {
	case "true":
		s = "0"
	case "false":
		*l = lapsFlag{}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("a number of laps, not %q", s)
	}
	*l = lapsFlag{on: true, count: n}
	return nil
}

func (l *lapsFlag) String() string {
	if !l.on {
		return ""
	}
	return strconv.Itoa(l.count)
}

func (l *lapsFlag) Type() string { return "N" }

// sizeFlag is a number of bytes, as in 512MiB or 2GiB.
type sizeFlag int64

// units from the longest suffix on.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1}, {"", 1},
}

func (s *sizeFlag) Set(text string) error {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 || n > (1<<62)/u.bytes {
			break
		}
		*s = sizeFlag(n * u.bytes)
		return nil
	}
	return fmt.Errorf("a size such as 512MiB or 2GiB, not %q", text)
}

func (s *sizeFlag) String() string {
	for _, u := range []int{2, 1, 0} {
		if unit := sizeUnits[u]; *s > 0 && int64(*s)%unit.bytes == 0 {
			return strconv.FormatInt(int64(*s)/unit.bytes, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *sizeFlag) Type() string { return "SIZE" }

// percentFlag is a share, as in 3% or 0.5%.
type percentFlag float64

func (p *percentFlag) Set(text string) error {
	digits, ok := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || !(x >= 0 && x <= 1000) {
		return fmt.Errorf("a percentage such as 3%% or 0.5%%, not %q", text)
	}
	*p = percentFlag(x / 100)
	return nil
}

func (p percentFlag) String() string {
	return strconv.FormatFloat(100*float64(p), 'g', 6, 64) + "%"
}

func (p *percentFlag) Type() string { return "PERCENT" }

// count is how many of the flags are given.
func count(given ...bool) (n int) {
	for _, one := range given {
		if one {
			n++
		}
	}
	return n
}
