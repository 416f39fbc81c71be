// Package command runs whole commands to time them: each with its empty twin, which does
// nothing but start and end, interleaved in balanced random order, one fresh process a
// run. The lines it writes are those of a record: a command is a case, a run of it a
// process.
package command

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/moonlap/moonlap/internal/record"
)

// Kind is the kind of a record that [Run] writes, and the runtime of its cases.
const (
	Kind    = "time"
	Runtime = "command"
)

// A Command is a program and its arguments, and what is taken off its time.
type Command struct {
	Name  string   // for the report
	Args  []string // with argv[0]
	Empty []string // its empty twin; nil: nothing is taken off
	// Guessed says that the twin is our idea: where it fails, it is dropped.
	Guessed bool
}

// Options say what to measure, how and for how long.
type Options struct {
	Commands []Command
	Path     string // list of folders to search for programs, as in $PATH
	// Comparing is the rule by which commands are compared with the first that does not
	// fail; nil: they are not.
	Comparing *record.Comparing

	Runs          int           // exactly so many a command; 0: until Precision or Time
	Warmup        int           // untimed runs before
	Precision     float64       // half of the interval's width, relative, of what is not compared
	Time          time.Duration // budget a command, without the untimed runs
	Timeout       time.Duration // a run; 0 is no bound
	Seed          uint64
	Prepare       []string // runs before each run, untimed
	Input         string   // file that is the commands' stdin
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

// Split splits a command line into words as a shell does, or, with a shell, hands it to
// that shell.
func Split(line string, shell []string) ([]string, error) {
	if len(shell) > 0 {
		return append(append([]string{}, shell...), "-c", line), nil
	}
	words, err := shellquote.Split(line)
	if err == nil && len(words) == 0 {
		err = errors.New("no command")
	}
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", line, err)
	}
	if sign := bareOperator(line); sign != "" {
		return nil, fmt.Errorf("command %q: %s is for a shell, and there is none; quote it, or add --shell", line, sign)
	}
	return words, nil
}

// bareOperator is the first of the shell's operators that stands outside quotes.
func bareOperator(line string) string {
	var quote rune
	escaped := false
	for _, c := range line {
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.ContainsRune("|<>;&", c):
			return string(c)
		}
	}
	return ""
}

// Join writes a command line that [Split] would split again.
func Join(args []string) string { return shellquote.Join(args...) }

// find is the program's path.
func find(args []string, path string) (string, error) {
	name := args[0]
	if strings.Contains(name, "/") {
		file, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("no program %s: %w", name, errors.Unwrap(err))
		}
		return file, nil
	}
	for _, folder := range strings.Split(path, ":") {
		if folder == "" {
			continue // the working folder: not by accident
		}
		if file, err := exec.LookPath(folder + "/" + name); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("no program %q in $PATH", name)
}
