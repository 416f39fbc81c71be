package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// wanted is what a flag's value should look like, by its type.
var wanted = map[string]string{
	"int":      "a whole number",
	"uint":     "a whole number from 0 on",
	"uint64":   "a whole number from 0 on",
	"intSlice": "whole numbers, with commas between several",
	"float64":  "a number",
	"duration": "a duration such as 500ms, 10s or 2m",
	"bool":     "true or false",
}

// wrongValue says what a flag's value should have been, in place of the parser's words. Other errors
// are left as they are.
func wrongValue(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag, value := invalid.GetFlag(), invalid.GetValue()
	want, known := wanted[flag.Value.Type()]
	switch {
	case !known:
		return err
	case value == "":
		return fmt.Errorf("--%s is empty: it takes %s", flag.Name, want)
	}
	return fmt.Errorf("--%s %q is not %s", flag.Name, value, want)
}

// finite refuses NaN and infinity, which are numbers to the parser, and pass checks such as x <= 0.
func finite(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		x, bad := strconv.ParseFloat(f.Value.String(), 64)
		if f.Value.Type() == "float64" && bad == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
			err = usageErrorf("--%s %q is not %s", f.Name, f.Value, wanted["float64"])
		}
	})
	return err
}
