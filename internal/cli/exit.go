package cli

import (
	"context"
	"errors"
	"fmt"
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

// exitText ends the help of every command.
const exitText = `Exit status:
  0    ok
  1    error
  2    usage error
  3    partial result: some cases failed, the others stand
  4    regression found
  130  interrupted
`

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
