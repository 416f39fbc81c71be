package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Exit codes, the same for every command.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitPartial     = 3
	ExitRegression  = 4
	ExitInterrupted = 130
)

// exitCodes says what each code means, in the words of the help.
var exitCodes = []struct {
	code  int
	means string
}{
	{ExitOK, "ok"},
	{ExitError, "error"},
	{ExitUsage, "usage error"},
	{ExitPartial, "partial result: something failed, and the rest holds"},
	{ExitRegression, "regression found"},
	{ExitInterrupted, "interrupted"},
}

// moreExits are the codes that a command has beside those of all: ok, error, usage error and
// interrupted. With ownExit its status is that of the program that it runs.
var moreExits = map[string][]int{
	"moonlap": {ExitPartial, ExitRegression},
	"bench":   {ExitPartial, ExitRegression},
	"compare": {ExitPartial, ExitRegression},
	"load":    {ExitPartial, ExitRegression},
	"lint":    {ExitPartial, ExitRegression},
	"report":  {ExitPartial, ExitRegression}, // a record of load that broke its limits
	"time":    {ExitPartial, ExitRegression},
	"plot":    {ExitPartial},
	"explain": {ExitPartial},
	"profile": {ExitPartial},
	"heap":    {ExitPartial},
	"watch":   {ExitPartial},
	"run":     {ownExit},
	"doctor":  {ownExit}, // of --tune's command
}

const ownExit = -1

// ownMeanings are codes that say more of one command.
var ownMeanings = map[string]map[int]string{
	"lint": {
		ExitOK: "nothing was found, or notes alone", ExitRegression: "more than notes was found",
		ExitPartial: "a file could not be read, or a rule failed; the other findings hold",
	},
	"load": {
		ExitPartial:    "rate not reached, the client made the tail, or the server died",
		ExitRegression: "a limit was exceeded, or a side is slower than allowed",
	},
	"explain": {ExitPartial: "the worker ended meanwhile; what was sampled until then is shown"},
	"heap":    {ExitPartial: "some workers could not be read; the others are shown"},
	"profile": {ExitPartial: "some workers could not be profiled; the others are shown"},
	"watch":   {ExitPartial: "some workers could not be watched; the others are shown"},
}

// endsWith reports whether a command may end with a code.
func endsWith(command string, code int) bool {
	more := moreExits[command]
	return code != ExitPartial && code != ExitRegression || slices.Contains(more, code) || slices.Contains(more, ownExit)
}

// exitText ends the help of a command: the codes that it has.
func exitText(command string) string {
	var b strings.Builder
	b.WriteString("Exit status:\n")
	own := slices.Contains(moreExits[command], ownExit)
	for _, e := range exitCodes {
		if endsWith(command, e.code) && !(own && (e.code == ExitPartial || e.code == ExitRegression)) {
			means := e.means
			if of, ok := ownMeanings[command][e.code]; ok {
				means = of
			}
			fmt.Fprintf(&b, "  %-4d %s\n", e.code, means)
		}
	}
	if own {
		b.WriteString("  else that of the program it runs\n")
	}
	return b.String()
}

// An exitError is an error with an exit code of its own. A nil err means that the
// command has said all there is to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitWith ends the command with code; err may be nil.
func exitWith(code int, err error) error { return &exitError{code, err} }

// usageError is an error in how the command was called: exit code 2 and a pointer
// to the help.
func usageError(err error) error { return exitWith(ExitUsage, err) }

func usageErrorf(format string, args ...any) error {
	return usageError(fmt.Errorf(format, args...))
}

// exitCode tells the code that err ends the program with, and whether there is
// still something to print.
func exitCode(err error) (code int, silent bool) {
	var exit *exitError
	switch {
	case err == nil:
		return ExitOK, true
	case errors.As(err, &exit):
		return exit.code, exit.err == nil
	case errors.Is(err, context.Canceled):
		return ExitInterrupted, true
	}
	return ExitError, false
}
