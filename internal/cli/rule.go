package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// ruleFlags say how comparisons are judged.
type ruleFlags struct {
	minEffect, gate percentFlag
}

// addFlags gives f the flags; what is compared: "a case".
func (r *ruleFlags) addFlags(f *pflag.FlagSet, what string) {
	r.minEffect = percentFlag(sequential.DefaultComparing().MinEffect)
	f.Var(&r.minEffect, "min-effect", "the smallest difference that matters")
	f.Var(&r.gate, "fail-if-slower", fmt.Sprintf("exit with 4 when %s is proved to be slower than the first\nby more than this", what))
}

// rule is how a run judges that has N processes a side; 0: it ends when all is
// decided.
func (r ruleFlags) rule(processes int) *record.Comparing {
	rule := sequential.DefaultComparing()
	rule.MinEffect, rule.FailIfSlower, rule.Processes = float64(r.minEffect), float64(r.gate), processes
	return &rule
}

// needs refuses the flags where nothing is compared; what is missing: "a second command".
func (r ruleFlags) needs(flags *pflag.FlagSet, what string) error {
	for _, name := range []string{"min-effect", "fail-if-slower"} {
		if flags.Changed(name) {
			return usageErrorf("--%s is for comparisons: it needs %s", name, what)
		}
	}
	return nil
}

// gated is exit code 4 when a comparison proves what the gate forbids.
func gated(rule *record.Comparing, comparisons []record.Comparison) error {
	if rule == nil || rule.FailIfSlower == 0 {
		return nil
	}
	for _, c := range comparisons {
		if sequential.TooSlow(c, rule.FailIfSlower) {
			return exitWith(ExitRegression, fmt.Errorf("%s is more than %s slower than %s", c.B, percentFlag(rule.FailIfSlower).String(), c.A))
		}
	}
	return nil
}
