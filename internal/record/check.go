package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// check tells what is wrong with a line whose types are right; "" when nothing is.
func check(l Line) string {
	switch l := l.(type) {
	case Run:
		return checkComparing(l.Comparing)
	case Batches:
		return checkBatches(l)
	case Laps:
		if l.Count < 0 {
			return fmt.Sprintf("a count of %d laps", l.Count)
		}
		if endless(l.OverheadNS, l.OverheadPM, l.MeanNS, l.MinNS, l.MaxNS, l.ElapsedNS) {
			return "laps of more than 30 years"
		}
	case Metric:
		if l.Unit == "" {
			return "a metric without a unit"
		}
		if endless(l.Values...) {
			return fmt.Sprintf("a metric in %q beyond 1e18", l.Unit)
		}
	case Memory:
		if endless(l.BytesPerCall, l.HeapBytes) || l.InterpretedPerCall != nil && endless(*l.InterpretedPerCall) {
			return "memory beyond 1e18 bytes"
		}
	case Profile:
		if len(l.Profile) == 0 || l.Profile[0] != '{' {
			return "a profile that is no object"
		}
	case LoadSlice:
		return checkLoadSlice(l)
	case Case:
		if l.Case < 0 {
			return fmt.Sprintf("the case number %d", l.Case)
		}
		if l.Name == "" {
			return "a case without a name"
		}
	}
	return ""
}

// endless tells of numbers that nobody has measured, such as times of more than 30 years. Sums and squares of all others are numbers
// that JSON can say.
func endless(ns ...float64) bool {
	const longest = 1e18
	return slices.ContainsFunc(ns, func(one float64) bool { return math.Abs(one) > longest })
}

func checkComparing(c *Comparing) string {
	switch {
	case c == nil:
	case c.Level <= 0 || c.Level >= 1:
		return fmt.Sprintf("compares at the level %g; it is between 0 and 1", c.Level)
	case c.MinEffect <= 0 || c.FailIfSlower < 0 || c.Processes < 0:
		return "compares with a negative effect or number of processes"
	}
	return ""
}

func checkBatches(b Batches) string {
	n := len(b.Calls)
	for _, s := range []struct {
		name     string
		n        int
		optional bool
	}{
		{"ns", len(b.NS), false},
		{"traces", len(b.Traces), true},
		{"switches", len(b.Switches), true},
		{"steal", len(b.Steal), true},
	} {
		if s.n != n && (!s.optional || s.n != 0) {
			return fmt.Sprintf(`"calls" has %d values and %q %d; they are one batch each`, n, s.name, s.n)
		}
	}
	for i, calls := range b.Calls {
		if calls < 1 {
			return fmt.Sprintf("batch %d has %d calls", i+1, calls)
		}
		if b.NS[i] < 0 {
			return fmt.Sprintf("batch %d took %g ns; no clock that may be used runs backwards", i+1, b.NS[i])
		}
		if endless(b.NS[i]) {
			return fmt.Sprintf("batch %d took %g ns, more than 30 years", i+1, b.NS[i])
		}
	}
	for kind, times := range b.Yardsticks {
		if len(times) != n+1 {
			return fmt.Sprintf("the yardstick %q has %d times around %d batches; it is timed before each and after the last", kind, len(times), n)
		}
		for _, ns := range times {
			if ns < 0 || endless(ns) {
				return fmt.Sprintf("the yardstick %q took %g ns", kind, ns)
			}
		}
	}
	return ""
}

// checkSchema refuses a major version that this reader does not know.
func checkSchema(schema string) error {
	family, version, _ := strings.Cut(schema, "/")
	_, ours, _ := strings.Cut(Schema, "/")
	major, _, _ := strings.Cut(version, ".")
	if family == "moonlap" && major == ours {
		return nil
	}
	e := &FormatError{
		Text:   fmt.Sprintf("the schema is %q, and this moonlap reads %q", schema, Schema),
		Advice: "read it with the moonlap that wrote it",
	}
	if n, err := strconv.Atoi(major); family != "moonlap" || err != nil || n < 1 {
		e.Advice = "is this a record of moonlap?"
	}
	return e
}

// notJSON finds the numbers that C and Lua print and JSON cannot say.
var notJSON = regexp.MustCompile(`[:\[,]\s*-?(?i:nan|inf|infinity)\b`)

// syntaxFault puts an error of encoding/json into words.
func syntaxFault(b []byte, err error) *FormatError {
	e := &FormatError{Advice: adviceWriter, Err: err}
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		e.Text = wrongType(b, wrong)
	case notJSON.Match(b):
		e.Text = "a value that is not a number (nan or inf): " + excerpt(notJSON.Find(b))
	case errors.As(err, &syntax) && strings.HasPrefix(err.Error(), "unexpected end"):
		e.Text = "the line breaks off: " + excerpt(b)
		e.Advice = "the writer was stopped, or the disk was full; " + adviceBefore
	default:
		e.Text = "not a line of a record: " + excerpt(b)
		e.Advice = adviceBefore
	}
	return e
}

func wrongType(b []byte, wrong *json.UnmarshalTypeError) string {
	holds, belongs := wrong.Value, kindName(wrong.Type.Kind().String())
	number, isNumber := strings.CutPrefix(holds, "number ")
	switch {
	case wrong.Field == "" && holds == "array":
		return "a list, not an object: " + excerpt(b)
	case wrong.Field == "":
		return fmt.Sprintf("a %s, not an object: %s", holds, excerpt(b))
	case isNumber && belongs == "a number":
		return fmt.Sprintf("%q holds the number %s, which is too large", wrong.Field, number)
	}
	return fmt.Sprintf("%q holds a %s where %s belongs", wrong.Field, holds, belongs)
}

func kindName(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "slice":
		return "a list"
	case kind == "map", kind == "struct":
		return "an object"
	case kind == "bool":
		return "true or false"
	}
	return "a " + kind
}

// excerpt quotes the beginning of a line, short enough for a message.
func excerpt(b []byte) string {
	const most = 60
	if len(b) <= most {
		return strconv.Quote(string(b))
	}
	b = b[:most]
	for len(b) > most-utf8.UTFMax && !utf8.Valid(b) {
		b = b[:len(b)-1]
	}
	return strconv.Quote(string(b)) + " …"
}
