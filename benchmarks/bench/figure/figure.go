// Package figure is what the figures of this folder share: a way to run moonlap, a
// page that shows numbers with their intervals, and claims that hold or don't.
package figure

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// Level of all intervals.
const Level = 0.95

// A Page is what a figure prints; it remembers whether a claim has failed.
type Page struct {
	failed bool
}

// Open prints what is shown, and when and where it was measured.
func Open(title string) *Page {
	fmt.Printf("%s\n%s · %s · %d cores · load %s · %s\n\n", title,
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), cpu(), runtime.NumCPU(), load(), runtime.Version())
	return &Page{}
}

// Claim prints a claim and whether the numbers bear it out.
func (p *Page) Claim(holds bool, format string, args ...any) {
	word := "holds"
	if !holds {
		word = "FAILS"
		p.failed = true
	}
	fmt.Printf("claim %s: %s\n", word, fmt.Sprintf(format, args...))
}

// Close ends the program: 0 when all claims hold, else 1.
func (p *Page) Close() {
	fmt.Printf("load at the end: %s\n", load())
	if p.failed {
		os.Exit(1)
	}
}

// Must ends the program when the figure could not be measured at all.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Median of values, one a process, with its interval.
func Median(values []float64) record.Interval {
	interval, warnings := estimate.MedianInterval(values, Level)
	warn(warnings)
	return interval
}

// Ratio of two sets of values, b/a, with its interval.
func Ratio(a, b []float64) record.Interval {
	interval, warnings, err := estimate.RatioInterval(a, b, Level)
	Must(err)
	warn(warnings)
	return interval
}

// Show writes an interval with the given number of decimals.
func Show(i record.Interval, decimals int) string {
	return fmt.Sprintf("%.*f [%.*f, %.*f]", decimals, i.Estimate, decimals, i.Low, decimals, i.High)
}

// Inside reports whether the whole interval lies from low to high.
func Inside(i record.Interval, low, high float64) bool {
	return i.Low >= low && i.High <= high
}

// Round says on a terminal which round begins.
func Round(done, of int) {
	if info, err := os.Stderr.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	end := ""
	if done == of {
		end = "\n"
	}
	fmt.Fprintf(os.Stderr, "\rround %d of %d%s", done, of, end)
}

func warn(warnings []record.Warning) {
	for _, w := range warnings {
		fmt.Fprintf(os.Stderr, "%s: %s\n", w.Text, w.Advice)
	}
}

func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}
