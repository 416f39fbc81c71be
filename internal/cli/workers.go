package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/worker"
)

// chosenWorkers are the flags that say which nginx workers a command is about.
type chosenWorkers struct {
	pids   []int
	master int
	all    bool
}

func (o *chosenWorkers) addFlags(f *pflag.FlagSet) {
	f.IntSliceVar(&o.pids, "pid", nil, "process `ID` of a worker; several with commas")
	f.IntVar(&o.master, "master", 0, "all workers of the nginx whose master is process `ID`")
	f.BoolVar(&o.all, "all", false, "all nginx workers of this machine")
}

func (o *chosenWorkers) given() bool { return count(len(o.pids) > 0, o.master != 0, o.all) > 0 }

func (o *chosenWorkers) check() error {
	if count(len(o.pids) > 0, o.master != 0, o.all) != 1 {
		return usageErrorf("which workers? --pid, --master or --all; 'pgrep -a nginx' lists them")
	}
	if o.master < 0 || slices.ContainsFunc(o.pids, func(pid int) bool { return pid <= 0 }) {
		return usageErrorf("a process ID is above 0; 'pgrep -a nginx' lists them")
	}
	return nil
}

// flagsAlone is the argument check of a command that takes none.
func flagsAlone(cmd *cobra.Command, args []string) error {
	if err := morePIDs(args); err != nil || len(args) == 0 {
		return err
	}
	return usageErrorf("%q: what is it? '%s' takes flags alone", args[0], cmd.CommandPath())
}

// oneFile is the argument check of a command that takes a file in place of workers.
func oneFile(cmd *cobra.Command, args []string) error {
	if err := morePIDs(args); err != nil {
		return err
	}
	return cobra.MaximumNArgs(1)(cmd, args)
}

// morePIDs tells of process IDs that are arguments, as --pid $(pgrep nginx) makes of several.
func morePIDs(args []string) error {
	if len(args) == 0 || strings.Trim(args[0], "0123456789") != "" {
		return nil
	}
	return usageErrorf("%s: one worker is --pid %[1]s; several go with commas where they are allowed, --master and --all find them", args[0])
}

// find returns the process IDs of the workers there are now.
func (o *chosenWorkers) find() ([]int, error) {
	switch {
	case o.all:
		pids, err := worker.All()
		if err == nil && len(pids) == 0 {
			err = errors.New("no nginx worker runs on this machine")
		}
		return pids, err
	case o.master != 0:
		return worker.Of(o.master)
	}
	return slices.Compact(slices.Sorted(slices.Values(o.pids))), nil
}

// follow tells of workers that are started until the end.
func (o *chosenWorkers) follow(ctx context.Context, end time.Time, known []int, started func(pid int)) {
	known = slices.Clone(known)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(end) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pids, err := o.find()
		if err != nil {
			return // there are none any more
		}
		for _, pid := range pids {
			if !slices.Contains(known, pid) {
				known = append(known, pid)
				started(pid)
			}
		}
	}
}
