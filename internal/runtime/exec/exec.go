// Package exec measures whole commands: a fresh process a run, timed from outside, and beside a
// command its empty twin, the same program with nothing to do.
package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/lap"
)

// A Command is a program and its arguments, and what is taken off its time.
type Command struct {
	Name  string   // for the report
	Args  []string // with argv[0]
	Empty []string // its empty twin; nil: nothing is taken off
	// Guessed says that the twin is our idea: where it fails, it is dropped.
	Guessed bool
}

// Options say which commands there are, and how each of their processes is run.
type Options struct {
	Commands      []Command
	Path          string        // list of folders to search for programs, as in $PATH
	Timeout       time.Duration // a run; 0 is no bound
	Prepare       []string      // runs before each run, untimed
	Input         string        // file that is the commands' stdin
	Output        Output
	IgnoreFailure bool // a status other than 0 is no fault
}

// Output says where the commands' stdout and stderr go.
type Output int

const (
	Capture Output = iota // read through a pipe and counted, the beginning kept
	Discard               // stdout to /dev/null, which some programs notice
	Show                  // both to our stderr
)

// Commands are a [runtime.Program], opened: all programs and files are found.
type Commands struct {
	options Options
	prepare string // path
	devNull *os.File
	items   []*item // the commands, then the twins, which several commands may share
	cases   []record.Case
	twins   []int // of each command, in items; -1: it has none

	yardsticks *lap.Yardsticks // nil where there are none
}

// An item is a command or a twin.
type item struct {
	args []string
	path string
	name string
	twin bool
}

// Open finds what is needed before anything runs, and runs each twin once: one that fails has
// nothing to say. The caller must Close what it returns.
func Open(ctx context.Context, o Options) (_ *Commands, err error) {
	c := &Commands{options: o}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if c.devNull, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if o.Input != "" {
		f, err := os.Open(o.Input)
		if err != nil {
			return nil, fmt.Errorf("--input: %w", err)
		}
		f.Close()
	}
	if len(o.Prepare) > 0 {
		if c.prepare, err = find(o.Prepare, o.Path); err != nil {
			return nil, fmt.Errorf("--prepare: %w", err)
		}
	}
	for _, command := range o.Commands {
		i := &item{args: command.Args, name: command.Name}
		if i.path, err = find(command.Args, o.Path); err != nil {
			return nil, err
		}
		c.items = append(c.items, i)
	}
	if err := c.openTwins(ctx); err != nil {
		return nil, err
	}
	if c.yardsticks, err = lap.NewYardsticks(); err != nil {
		c.yardsticks = nil // all moments are alike then
	}
	for number, i := range c.items[:len(o.Commands)] {
		line := record.Case{Case: number, Name: i.name, Benchmark: i.name, Index: number, Runtime: record.KindCommand, GC: "natural"}
		if twin := c.twins[number]; twin >= 0 {
			line.Params = map[string]any{record.EmptyParam: Join(c.items[twin].args)}
		}
		c.cases = append(c.cases, line)
	}
	return c, nil
}

// openTwins finds the twins, each once, however many commands share it.
func (c *Commands) openTwins(ctx context.Context) (err error) {
	shared := map[string]int{}
	for _, command := range c.options.Commands {
		if len(command.Empty) == 0 {
			c.twins = append(c.twins, -1)
			continue
		}
		key := strings.Join(command.Empty, "\x00")
		number, ok := shared[key]
		if !ok {
			t := &item{args: command.Empty, twin: true, name: "the empty twin " + Join(command.Empty)}
			if t.path, err = find(command.Empty, c.options.Path); err != nil {
				return fmt.Errorf("--empty: %w", err)
			}
			if number, err = c.try(ctx, t, command.Guessed); err != nil {
				return err
			}
			shared[key] = number
		}
		c.twins = append(c.twins, number)
	}
	return nil
}

// try runs a twin once and returns its number; -1: it was guessed wrongly.
func (c *Commands) try(ctx context.Context, t *item, guessed bool) (number int, err error) {
	ran, err := c.start(ctx, t, runtime.Job{})
	if err != nil {
		return 0, err
	}
	switch why := failure(ran, c.options); {
	case why == nil:
		c.items = append(c.items, t)
		return len(c.items) - 1, nil
	case guessed:
		return -1, nil
	default:
		return 0, fmt.Errorf("%s: %s", t.name, why.Text)
	}
}

// Close ends the use of the commands.
func (c *Commands) Close() error {
	if c.devNull == nil {
		return nil
	}
	return c.devNull.Close()
}

// Cases are the commands, without the twins.
func (c *Commands) Cases() []record.Case { return c.cases }

// Twin is the index of a command's empty twin.
func (c *Commands) Twin(index int) (int, bool) { return c.twins[index], c.twins[index] >= 0 }

// Refuse says what a command cannot do.
func (c *Commands) Refuse(job runtime.Job) error {
	if job.Slowdown > 0 {
		return errors.New("a command cannot be slowed down: a gate is proved on Lua code")
	}
	return nil
}
