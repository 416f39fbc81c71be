package command

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// start runs an item once.
func (r *run) start(ctx context.Context, i *item) (runtime.Ran, error) {
	cmd := runtime.Command{
		Path: i.path, Args: i.args, Timeout: r.options.Timeout,
		Watch: i.number >= 0 && r.round == 0 && r.options.Warmup > 0,
		// The size of the environment moves the stack: see the pad of a bench process.
		Env: []string{"MOONLAP_PAD=" + strings.Repeat("x", r.random.IntN(4096))},
	}
	if r.options.Input != "" {
		// Each run has the file from its beginning, and an offset of its own.
		f, err := os.Open(r.options.Input)
		if err != nil {
			return runtime.Ran{}, fmt.Errorf("--input: %w", err)
		}
		defer f.Close()
		cmd.Stdin = f
	}
	switch r.options.Output {
	case Discard:
		cmd.Stdout = r.devNull
	case Show:
		if i.number >= 0 {
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		}
	}
	return runtime.Run(ctx, cmd)
}

// prepared runs what has to be done before each run.
func (r *run) prepared(ctx context.Context) (*record.Fault, error) {
	if r.prepare == "" {
		return nil, nil
	}
	ran, err := runtime.Run(ctx, runtime.Command{Path: r.prepare, Args: r.options.Prepare, Timeout: r.options.Timeout})
	if err != nil {
		return nil, err
	}
	o := r.options
	o.IgnoreFailure = false
	return failure(ran, o), nil
}

// faultStatus is a command that ended with a status other than 0.
const faultStatus = "status"

// failure is why a run does not count; nil when it does.
func failure(ran runtime.Ran, o Options) *record.Fault {
	switch {
	case ran.TimedOut:
		return &record.Fault{Kind: record.FaultTimeout, Text: fmt.Sprintf("it did not end within %s%s", o.Timeout, printed(ran))}
	case o.IgnoreFailure:
		return nil
	case ran.Signal != "":
		return &record.Fault{Kind: record.FaultCrash, Text: "killed by " + ran.Signal + printed(ran)}
	case ran.Status != 0:
		return &record.Fault{Kind: faultStatus, Text: fmt.Sprintf("it exited with status %d%s; --ignore-failure times it all the same", ran.Status, printed(ran))}
	}
	return nil
}

// printed is the beginning of what it said.
func printed(ran runtime.Ran) string {
	out := ran.Stderr
	if out == nil {
		out = ran.Stdout
	}
	if out == nil || strings.TrimSpace(out.Head) == "" {
		return ""
	}
	const most = 300
	text := strings.Join(strings.Fields(out.Head), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return ", saying: " + text
}

// readCost is what a reading of our clock takes, in ns.
func readCost() float64 {
	const reads = 1000
	began := time.Now()
	for range reads {
		_ = time.Now()
	}
	return float64(time.Since(began)) / reads
}
