// Uv runs the same work under C libuv, luv and moonlap.uv, each a fresh process, and prints the
// ratios of their process CPU time (user and system) beside what moonlap.uv aims at:
//
//	make -C ../.. build && go run . -rounds 11
//
// It takes luajit, cc, libuv's headers and luv (Debian: luajit2 gcc libuv1-dev lua-luv). What is
// missing is named, and what can run without it runs. -only, -scale and -rounds make it shorter.
//
// Exit status: 0 ok, 1 error, 2 usage, 3 some side of some work could not run, 130 interrupted;
// go run says it in words and ends with 1 itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/moonlap/moonlap/internal/stat/estimate"
)

const (
	exitError, exitUsage, exitPartial, exitInterrupted = 1, 2, 3, 130
)

func main() { os.Exit(run()) }

func run() int {
	rounds := flag.Int("rounds", 11, "rounds; in each, every program runs once, in random order")
	scale := flag.Float64("scale", 1, "share of each work's operations")
	only := flag.String("only", "", "regular expression: the works to run, by name")
	asJSON := flag.Bool("json", false, "print the summary as JSON")
	out := flag.String("out", "", "file to which every process's outcome is appended as a JSON line")
	summary := flag.String("summary", "", "print the table of such a file, and measure nothing")
	flag.Parse()

	re, err := regexp.Compile(*only)
	least := estimate.LeastForMedian(level)
	switch {
	case flag.NArg() > 0:
		return complain(exitUsage, fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	case err != nil:
		return complain(exitUsage, fmt.Errorf("-only: %w", err))
	case *rounds < least:
		return complain(exitUsage, fmt.Errorf("-rounds %d: a 95 %% interval needs at least %d", *rounds, least))
	case !(*scale > 0):
		return complain(exitUsage, fmt.Errorf("-scale %g: must be above 0", *scale))
	}
	chosen := choose(works, re)
	if len(chosen) == 0 {
		return complain(exitUsage, fmt.Errorf("-only %q: no work has such a name", *only))
	}

	var all []outcome
	if *summary != "" {
		all, err = readOutcomes(*summary)
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		all, err = measure(ctx, chosen, *rounds, *scale, *out)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case err != nil:
		return complain(exitError, err)
	}
	return show(summarize(chosen, all), *asJSON)
}

func show(t table, asJSON bool) int {
	print := t.print
	if asJSON {
		print = t.printJSON
	}
	if err := print(os.Stdout); err != nil {
		return complain(exitError, err)
	}
	switch {
	case t.measured() == 0:
		return complain(exitError, errors.New("nothing could run"))
	case t.failed() > 0:
		return exitPartial
	}
	return 0
}

func complain(code int, err error) int {
	fmt.Fprintln(os.Stderr, "uv:", err)
	return code
}
