package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/doctor"
	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/store"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/worker"
)

type doctorOptions struct {
	json, tune, noASLR bool
	pin, root          string
	luajit, nginx      string
	nice               int
	noise              time.Duration
}

func newDoctorCommand(sys Sys) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [--json] [--noise 1m] | --tune [flags] -- COMMAND [ARGS]",
		Short: "Check what spoils figures here; tune the machine for a command",
		Long: `Check this machine for what stands in the way of measuring, with a remedy for each.

Each check is ok, a note (figures need care, or something is missing here) or a
problem (figures will be wrong, or a command will not work). The exit status is 1 only
where nothing can be measured: without any LuaJIT and nginx.

It also checks what profile, watch and explain may see here. Of each nginx worker that runs
it names the nginx and the LuaJIT, and says what was verified in it.

--tune runs a command on a machine made quiet for it: the frequency governor is set to
performance, and the command runs on the CPU that devices interrupt least, at a higher
priority. What cannot be set is reported, and the command runs all the same; its exit status
is the command's. Afterwards the governor is what it was, also when moonlap is killed: a
guardian process puts it back. What even that could not, as after a power cut of a
machine that keeps such settings, the next 'moonlap doctor' does.`,
		Example: `  moonlap doctor
  sudo moonlap doctor --tune -- moonlap bench app.lua
  moonlap doctor --tune --pin 2-3 --nice 0 -- moonlap compare a.lua b.lua`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.tune && len(args) == 0:
				return usageErrorf("--tune -- which command?")
			case o.noise > 0 && (o.tune || len(args) > 0):
				return usageErrorf("--noise measures the machine and runs no command")
			case o.noise > 0:
				return runNoise(cmd.Context(), sys, o)
			case o.tune && o.json:
				return usageErrorf("--json or --tune, not both")
			case !o.tune && len(args) > 0:
				return usageErrorf("%q: a command goes with --tune", args[0])
			case o.tune:
				return runTuned(cmd.Context(), sys, o, args)
			}
			return runDoctor(cmd.Context(), sys, o)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command's name is the command's
	f.BoolVar(&o.json, "json", false, "write the checks as JSON")
	f.StringVar(&o.luajit, "luajit", "", "`PATH` of the LuaJIT to check")
	f.StringVar(&o.nginx, "nginx", "", "`PATH` of the nginx to check")
	f.DurationVar(&o.noise, "noise", 0, "for this long, up to 1m, measure how often something slows\nthe machine")
	f.BoolVar(&o.tune, "tune", false, "tune the machine, run the command, and put everything back")
	f.StringVar(&o.pin, "pin", "auto", "`CPUS` for the command, as 1 or 0,2-4; auto: the one with the\nfewest interrupts; none: all")
	f.IntVar(&o.nice, "nice", -10, "priority for the command, from -20 (highest) to 19; 0: as it is")
	f.BoolVar(&o.noASLR, "no-aslr", false, "one and the same memory layout for each process; a lucky or\nunlucky one, so figures of different builds don't compare")
	f.StringVar(&o.root, "root", "/", "folder that holds proc and sys")
	f.Lookup("root").Hidden = true
	return cmd
}

func (o doctorOptions) machine(sys Sys) doctor.Machine {
	m := doctor.Machine{Root: o.root, Env: runtime.EnvironmentUnder(o.root), Counter: doctor.OpenCounter, Probe: probe.Check}
	seen := store.ReadYardsticks(m.Env, sys.Now())
	m.Yardsticks, m.Since = seen.Best(), seen.From()
	return m
}

// doctored is what --json writes.
type doctored struct {
	Schema      string             `json:"schema"`
	Kind        string             `json:"kind"`
	Environment record.Environment `json:"environment"`
	Runtimes    []record.Runtime   `json:"runtimes"`
	Workers     []worker.About     `json:"workers"` // nginx workers that run here, as far as they could be inspected
	Checks      []doctor.Check     `json:"checks"`
}

func runDoctor(ctx context.Context, sys Sys, o doctorOptions) error {
	machine := o.machine(sys)
	var repaired []doctor.Check
	if file, err := doctor.StateFile(sys.Getenv); err == nil { // else no --tune can have left anything
		repaired, err = repairChecks(file, o.root)
		if errors.Is(err, doctor.ErrBusy) {
			repaired = []doctor.Check{{Name: "tuned", Status: doctor.Note, Text: err.Error() + ", and has set the governor"}}
		}
	}
	programs, found, any := doctor.Programs(ctx, runtime.Options{
		LuaJIT: o.luajit, Nginx: o.nginx, Path: sys.Getenv("PATH"),
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	checks := append(append(repaired, programs...), machine.Checks()...)
	workers := []worker.About{}
	if o.root == "/" {
		running, abouts := doctor.Workers()
		checks, workers = append(checks, running...), append(workers, abouts...)
	}
	if o.json {
		all := doctored{record.Schema, "doctor", machine.Env, append([]record.Runtime{}, found...), workers, checks}
		if err := jsontext.Write(sys.Stdout, all); err != nil {
			return err
		}
	} else if err := writeChecks(sys, checks); err != nil {
		return err
	}
	if !any {
		return exitWith(ExitError, nil)
	}
	return nil
}

// repairChecks puts back what an earlier --tune left behind.
func repairChecks(file, root string) ([]doctor.Check, error) {
	done, err := doctor.Repair(file, root)
	var checks []doctor.Check
	for _, text := range done {
		checks = append(checks, doctor.Check{Name: "put back", Status: doctor.OK, Text: text})
	}
	switch {
	case errors.As(err, new(*doctor.ForeignError)):
		checks = append(checks, doctor.Check{Name: "put back", Status: doctor.Note, Text: err.Error()})
	case err != nil && !errors.Is(err, doctor.ErrBusy):
		checks = append(checks, doctor.Check{
			Name: "put back", Status: doctor.Problem, Text: "an earlier --tune was cut off: " + err.Error(),
			Remedy: "run 'moonlap doctor' as the user who ran it, or root",
		})
	}
	return checks, err
}

// writeChecks writes a sum, and a line a check with the remedy below it, what is wrong first.
func writeChecks(sys Sys, checks []doctor.Check) error {
	count := map[string]int{}
	width := 0
	for _, c := range checks {
		count[c.Status]++
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %d ok\n\n", counted(count[doctor.Problem], "problem"), counted(count[doctor.Note], "note"), count[doctor.OK])
	urgency := []string{doctor.Problem, doctor.Note, doctor.OK}
	checks = slices.SortedStableFunc(slices.Values(checks), func(a, b doctor.Check) int {
		return cmp.Compare(slices.Index(urgency, a.Status), slices.Index(urgency, b.Status))
	})
	for _, c := range checks {
		lead := fmt.Sprintf("%-7s  %-*s  ", c.Status, width, c.Name)
		indent := strings.Repeat(" ", len(lead))
		for i, text := range []string{ui.Harmless(c.Text), ui.Harmless(c.Remedy)} {
			if text == "" {
				continue
			}
			if i == 1 {
				lead, text = indent, "→ "+text
			}
			wrapped := ansi.Wordwrap(text, max(40, sys.Width()-len(indent)), "")
			fmt.Fprintf(&b, "%s%s\n", lead, strings.ReplaceAll(wrapped, "\n", "\n"+indent))
		}
	}
	_, err := fmt.Fprint(sys.Stdout, b.String())
	return err
}

func counted(n int, what string) string { return ui.Plural(n, what, what+"s") }

func runTuned(ctx context.Context, sys Sys, o doctorOptions, args []string) error {
	say := noting(sys)
	machine := o.machine(sys)
	tuning := doctor.Tuning{Nice: o.nice, NoASLR: o.noASLR}
	switch o.pin {
	case "none":
	case "auto":
		if cpu, ok := machine.Quietest(); ok {
			tuning.CPUs = []int{cpu}
		} else {
			say("no CPU to choose: the command runs where it may")
		}
	default:
		cpus, err := doctor.ParseCPUs(o.pin)
		if err != nil {
			return usageErrorf("--pin: %w", err)
		}
		tuning.CPUs = cpus
	}
	program, err := doctor.Program(args[0], sys.Getenv("PATH"))
	if err != nil {
		return err
	}
	guardian, err := o.guard(sys, machine, say)
	if err != nil {
		return err
	}
	status, err := doctor.RunTuned(ctx, tuning, append([]string{program}, args[1:]...), say)
	if guardian != nil {
		done, failed := guardian.Stop()
		for _, text := range done {
			say(text)
		}
		err = errors.Join(err, failed)
	}
	if err == nil && status != 0 {
		return exitWith(status, nil)
	}
	return err
}

// guard changes the settings under a guardian; nil where there is nothing to change.
func (o doctorOptions) guard(sys Sys, machine doctor.Machine, say func(string)) (*doctor.Guardian, error) {
	file, err := doctor.StateFile(sys.Getenv)
	if err != nil {
		return nil, err
	}
	checks, err := repairChecks(file, o.root)
	if errors.Is(err, doctor.ErrBusy) {
		return nil, err
	}
	for _, c := range checks {
		say(c.Text)
	}
	settings, reason := machine.Settings()
	if reason != "" {
		say("governor: nothing to set, as " + reason)
		return nil, nil
	}
	guardian, said, err := doctor.StartGuardian(settings, file, o.root)
	for _, text := range said {
		say(text)
	}
	return guardian, err
}

// newDoctorGuardCommand is the guardian's side of --tune: moonlap starts it itself.
func newDoctorGuardCommand(sys Sys) *cobra.Command {
	var file, root string
	cmd := &cobra.Command{
		Use:    doctor.GuardCommand,
		Short:  "Guard what --tune has changed",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return doctor.Guard(sys.Stdin, sys.Stdout, file, root)
		},
	}
	cmd.Flags().StringVar(&file, "state", "", "state file")
	cmd.Flags().StringVar(&root, "root", "/", "folder that holds proc and sys")
	return cmd
}
