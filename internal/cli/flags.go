package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/ui"
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

// sizeFlag is a number of bytes, as in 512MiB or 2GB.
type sizeFlag int64

func (s *sizeFlag) Set(text string) error {
	n, err := ui.ParseSize(text)
	if n == 0 && err == nil {
		err = fmt.Errorf("a size above 0, not %q", text)
	}
	if err == nil {
		*s = sizeFlag(n)
	}
	return err
}

func (s *sizeFlag) String() string { return ui.FormatSize(int64(*s)) }

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
