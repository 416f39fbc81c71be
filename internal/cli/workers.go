package cli

import (
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// chosenWorkers are the flags that say which nginx workers a command is about.
type chosenWorkers struct{ follow.Choice }

func (o *chosenWorkers) addFlags(f *pflag.FlagSet) {
	f.IntSliceVar(&o.PIDs, "pid", nil, "process `ID` of a worker; several with commas")
	f.IntVar(&o.Master, "master", 0, "all workers of the nginx whose master is process `ID`")
	f.BoolVar(&o.All, "all", false, "all nginx workers of this machine")
}

func (o *chosenWorkers) given() bool { return len(o.PIDs) > 0 || o.Master != 0 || o.All }

func (o *chosenWorkers) check() error {
	if !o.given() {
		return usageErrorf("which workers? --pid, --master or --all; 'pgrep -a nginx' lists them")
	}
	if o.Master < 0 || slices.ContainsFunc(o.PIDs, func(pid int) bool { return pid <= 0 }) {
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
