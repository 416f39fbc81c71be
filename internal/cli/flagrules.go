package cli

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/view/profiles"
	"github.com/moonlap/moonlap/internal/view/watch"
)

// byCommand is what holds of a flag in the commands that are named; "" is every command.
type byCommand[T any] map[string]T

func (b byCommand[T]) of(command string) (t T, ok bool) {
	if t, ok = b[command]; !ok {
		t, ok = b[""]
	}
	return t, ok
}

// bounds are the numbers that a flag takes; times are nanoseconds.
type bounds struct {
	above      bool // from itself is too little
	from, most float64
}

const (
	ms     = float64(time.Millisecond)
	second = float64(time.Second)
	minute = float64(time.Minute)
)

// Bounds that several flags have.
var (
	aboveZero    = bounds{above: true, most: math.Inf(1)}
	notNegative  = atLeast(0)
	anyShare     = bounds{above: true, most: 1}
	samplingRate = bounds{above: true, most: 1000}
	shortPause   = bounds{above: true, most: second}
)

func atLeast(least float64) bounds { return bounds{from: least, most: math.Inf(1)} }

func (b bounds) has(x float64) bool { return (x > b.from || x == b.from && !b.above) && x <= b.most }

// text says the bounds, with numbers written by write.
func (b bounds) text(write func(float64) string) string {
	switch {
	case b.above && math.IsInf(b.most, 1):
		return "above " + write(b.from)
	case b.above:
		return "above " + write(b.from) + " and at most " + write(b.most)
	case math.IsInf(b.most, 1):
		return "at least " + write(b.from)
	}
	return "from " + write(b.from) + " to " + write(b.most)
}

// checkFlags refuses what the table does not allow: values, and flags that were given together.
func checkFlags(command string, flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		r := ruleOf(f.Name)
		err = cmp.Or(err, r.checkValues(command, f), r.checkBounds(command, f), r.checkConflicts(command, f, flags), r.checkNeeds(command, f, flags))
	})
	return err
}

func valuesIn(f *pflag.Flag) []string {
	if several, ok := f.Value.(pflag.SliceValue); ok {
		return several.GetSlice()
	}
	return []string{f.Value.String()}
}

// checkValues refuses a value that the table does not have, of a flag that takes no other.
func (r flagRule) checkValues(command string, f *pflag.Flag) error {
	values := r.valuesOf(command, Sys{})
	if !r.strict || values == nil {
		return nil
	}
	for _, value := range valuesIn(f) {
		if err := oneOf("--"+f.Name, value, values...); err != nil {
			return err
		}
	}
	return nil
}

// checkBounds refuses numbers out of bounds.
func (r flagRule) checkBounds(command string, f *pflag.Flag) error {
	b, ok := r.bounds.of(command)
	if !ok {
		return nil
	}
	read, write := numbersOf(f.Value.Type())
	for _, value := range valuesIn(f) {
		if x, err := read(value); err == nil && !b.has(x) {
			return usageErrorf("%s must be %s", typed(f), b.text(write))
		}
	}
	return nil
}

// numbersOf reads and writes values of a type of flags: times, shares, or numbers.
func numbersOf(kind string) (read func(string) (float64, error), write func(float64) string) {
	number := func(text string) (float64, error) { return strconv.ParseFloat(cmp.Or(text, "0"), 64) }
	plain := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch strings.ToLower(kind) {
	case "duration":
		return func(text string) (float64, error) {
				d, err := time.ParseDuration(cmp.Or(text, "0"))
				return float64(d), err
			}, func(x float64) string {
				text := time.Duration(x).String() // 5m0s
				if whole, ok := strings.CutSuffix(text, "m0s"); ok {
					return whole + "m"
				}
				if x == 0 {
					return "0"
				}
				return text
			}
	case "percent":
		return func(text string) (float64, error) {
			x, err := number(strings.TrimSuffix(text, "%"))
			return x / 100, err
		}, func(x float64) string { return plain(100*x) + "%" }
	}
	return number, plain
}

// typed is a flag as it is mostly typed: -R, --ramp.
func typed(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// given reports whether a flag was given, and is not off.
func given(f *pflag.Flag) bool {
	return f != nil && f.Changed && !slices.Contains([]string{"", "false", "[]"}, f.Value.String())
}

// checkNeeds refuses a flag that means something beside another one alone. One of the environment may be meant for other commands.
func (r flagRule) checkNeeds(command string, f *pflag.Flag, flags *pflag.FlagSet) error {
	needs, _ := r.needs.of(command)
	if command == "load" && (isKind(profiles.Kinds, r.name) || profiles.IsMode(r.name)) {
		needs = []string{"profile"}
	}
	if needs == nil || !given(f) || f.Annotations[ofEnvironment] != nil {
		return nil
	}
	var names []string
	for _, name := range needs {
		other := flags.Lookup(name)
		if given(other) {
			return nil
		}
		names = append(names, typed(other))
	}
	return usageErrorf("%s goes with %s", typed(f), orOf(names))
}

// checkConflicts refuses two flags that do not go together. One of the environment gives way.
func (r flagRule) checkConflicts(command string, f *pflag.Flag, flags *pflag.FlagSet) error {
	for _, name := range r.conflictsIn(command) {
		other := flags.Lookup(name)
		switch {
		case other == nil || other == f || !given(f) || !given(other):
		case f.Annotations[ofEnvironment] == nil && other.Annotations[ofEnvironment] != nil:
			takeBack(other)
		case f.Annotations[ofEnvironment] != nil && other.Annotations[ofEnvironment] == nil:
			takeBack(f)
		default:
			return usageErrorf("%s or %s, not both", typed(f), typed(other))
		}
	}
	return nil
}

// conflictsIn are the flags that a flag does not go with: as the table has it, and as kinds of evidence and modes of profiles do.
func (r flagRule) conflictsIn(command string) []string {
	all, _ := r.conflicts.of(command)
	all = slices.Clone(all)
	if command == "watch" && isKind(watch.Kinds, r.name) {
		all = append(all, "capture")
	}
	for _, m := range profiles.Modes {
		if profiles.IsMode(r.name) {
			all = append(all, m.Name)
		}
	}
	for _, k := range profiles.Kinds {
		switch {
		case k.Name == r.name:
			all = append(all, k.Conflicts...)
		case slices.Contains(k.Conflicts, r.name):
			all = append(all, k.Name)
		}
	}
	return all
}

func isKind(kinds []observe.Kind, name string) bool {
	return slices.ContainsFunc(kinds, func(k observe.Kind) bool { return k.Name == name })
}

// takeBack has a flag be as if it were not given.
func takeBack(f *pflag.Flag) {
	f.Changed = false
	if several, ok := f.Value.(pflag.SliceValue); ok {
		_ = several.Replace(nil)
		return
	}
	_ = f.Value.Set(f.DefValue)
}

// orOf writes names as a choice: "a, b or c".
func orOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
