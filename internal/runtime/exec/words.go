package exec

import (
	"errors"
	"fmt"
	osexec "os/exec"
	"strings"

	"github.com/kballard/go-shellquote"
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
		file, err := osexec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("no program %s: %w", name, errors.Unwrap(err))
		}
		return file, nil
	}
	for _, folder := range strings.Split(path, ":") {
		if folder == "" {
			continue // the working folder: not by accident
		}
		if file, err := osexec.LookPath(folder + "/" + name); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("no program %q in $PATH", name)
}
