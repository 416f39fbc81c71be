package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Sys is all that a command may touch of the world around it, so that tests can
// run the real commands on a made-up one.
type Sys struct {
	Args           []string // the command line, without the program; Main sets it
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	StdoutTerminal bool // a terminal that knows escape sequences; so for stderr
	StderrTerminal bool
	// Width is the number of columns of the terminal, 80 where there is none.
	Width func() int
	// Height is the number of its lines, 0 where there is none.
	Height func() int
}

// RealSys is the process's own stdio, environment and clock.
func RealSys() Sys {
	terminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" }
	return Sys{
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		Getenv:         os.Getenv,
		Now:            time.Now,
		StdoutTerminal: terminal(os.Stdout),
		StderrTerminal: terminal(os.Stderr),
		Width: func() int {
			for _, f := range []*os.File{os.Stdout, os.Stderr} {
				if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
					return columns
				}
			}
			return 80
		},
		Height: func() int {
			_, lines, _ := term.GetSize(int(os.Stdout.Fd()))
			return lines
		},
	}
}

// samePress is how long after the first signal another one counts as the same
// press of Ctrl-C: timeout(1), make and npm pass on what the terminal sends to all.
var samePress = 500 * time.Millisecond

// Interruptible returns a context that ends with the first SIGINT, SIGTERM or
// SIGHUP. A second signal, half a second later or more, finds its default action
// again and ends moonlap at once, for a user who won't wait for the tidying up.
// From now on moonlap lets go of all workers before it is suspended, too.
func Interruptible() context.Context {
	suspendable()
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { time.AfterFunc(samePress, stop) })
	return ctx
}
