package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// elided stands for any lines in a page.
const elided = "…"

// A shape is what must be alike in two outputs: one logical line of it.
type shape struct {
	key      string // "": may be there or not
	from, to int    // the lines of the output that it is made of
}

var (
	bar          = regexp.MustCompile(`^ {2,}(≥ )?-?[\d.]+ (ns|µs|ms|s) +[\d,]+( +[█▉▊▋▌▍▎▏]+)?$|^ +⋮$`)
	continuation = regexp.MustCompile(`^ {4,}[^ →!│]`)
	row          = regexp.MustCompile(`^ {4}[\d.]+ % of processes`) // a mode's line of the table
	number       = regexp.MustCompile(`-?\b\d[\d.,]*(e[-+]?\d+)?`)
	unit         = regexp.MustCompile(`\b0 ?(ns|µs|ms|s|B|kB|MB|GB)\b`)
	multiple     = regexp.MustCompile(`\b0 [kMG]\b`)
	steady       = regexp.MustCompile(`steady from the start|steady after warming up|slowed down, then steady|never steady`)
	verdict      = regexp.MustCompile(`(0×|undecided|no measurable difference).*`)
	// What benchstat says of a difference.
	base = regexp.MustCompile(`(~|\+?0%) +\(p=0 n=0\)`)
	// Labels of the report behind which all is of the machine, the weather or the draw.
	labels = regexp.MustCompile(`^( {2}(?:with|on|batches|laps|rate|JIT)|real|user|sys)\s.*`)
	// What a run may or may not have: modes, and percentiles as a part of them.
	perhaps = regexp.MustCompile(`^ {2}(modes|quiet|shape|JIT) |^ {4}0 % of processes`)
	// The ends of a wide interval, in place of ± 0.
	ends = regexp.MustCompile(`0 \(0(–| to )0\)`)
	// The JIT's summary at the end of a line of the table.
	ledger = regexp.MustCompile(` (0( to 0)? root(, 0( to 0)? side)?|0 side|compiled|partly|interpreted)$`)
)

// shapes are the logical lines of an output: wrapped lines are one, and so are all bars of
// a histogram. Empty lines, modes and notes may be there or not.
func shapes(lines []string) []shape {
	var all []shape
	notes := false
	for i := 0; i < len(lines); i++ {
		first := i
		text := lines[i]
		if lines[i] == "notes" {
			notes = true
		} else if lines[i] == "" || lines[i][0] != ' ' && lines[i] != elided {
			notes = false
		}
		switch {
		case bar.MatchString(text):
			for i+1 < len(lines) && bar.MatchString(lines[i+1]) {
				i++
			}
			text = "histogram"
		case text == "" || text == elided:
		default:
			for i+1 < len(lines) && continuation.MatchString(lines[i+1]) && !bar.MatchString(lines[i+1]) &&
				!row.MatchString(lines[i+1]) {
				i++
				text += " " + strings.TrimSpace(lines[i])
			}
		}
		s := shape{from: first, to: i + 1}
		if !notes || text == elided {
			s.key = key(text)
		}
		all = append(all, s)
	}
	return all
}

// key is what stays of a logical line when all that differs from run to run is gone.
func key(text string) string {
	text = strings.ReplaceAll(text, "± ?", "± 0")
	text = number.ReplaceAllString(text, "0")
	if perhaps.MatchString(text) {
		return ""
	}
	text = labels.ReplaceAllString(text, "$1")
	text = multiple.ReplaceAllString(text, "0")
	text = ends.ReplaceAllString(text, "0")
	text = unit.ReplaceAllString(text, "0 unit")
	text = steady.ReplaceAllString(text, "steady")
	text = verdict.ReplaceAllString(text, "verdict")
	text = strings.ReplaceAll(text, "± 0", "")
	text = base.ReplaceAllString(text, "base")
	text = ledger.ReplaceAllString(text, " ledger")
	return strings.Join(strings.Fields(text), " ")
}

// fit lays what a page shows over an actual output, and returns the page's lines with the
// actual ones in their place. The error says where the two part.
func fit(shown, actual []string) ([]string, error) {
	var fitted []string
	want, have := shapes(shown), shapes(actual)
	at, open := 0, false // the next actual shape; whether an elision goes before it
	from := 0            // first actual line that is not in fitted
	for _, w := range want {
		switch {
		case w.key == elided:
			if from >= 0 {
				fitted = append(fitted, actual[from:endOf(have, at)]...)
			}
			fitted = append(fitted, elided)
			from, open = -1, true
			continue
		case w.key == "":
			continue
		}
		for at < len(have) && have[at].key != w.key && (open || have[at].key == "") {
			at++
		}
		if at == len(have) || have[at].key != w.key {
			return nil, fmt.Errorf("line %d shows\n    %s\nbut the output has there\n    %s",
				w.from+1, w.key, keyAt(have, at, open))
		}
		if from < 0 {
			from = have[at].from
		}
		at++
		open = false
	}
	if open {
		return fitted, nil
	}
	for ; at < len(have); at++ {
		if have[at].key != "" {
			return nil, fmt.Errorf("the output goes on with\n    %s", have[at].key)
		}
	}
	return append(fitted, actual[max(from, 0):]...), nil
}

func endOf(all []shape, at int) int {
	if at == 0 {
		return 0
	}
	return all[at-1].to
}

func keyAt(all []shape, at int, open bool) string {
	if at == len(all) {
		if open {
			return "nothing like it up to its end"
		}
		return "its end"
	}
	return all[at].key
}
