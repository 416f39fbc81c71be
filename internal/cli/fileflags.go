package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/files"
)

// fileFlagMark begins a comment line in which a bench file says the flags it needs.
const fileFlagMark = "-- moonlap:"

// inFiles holds of flags that a bench file may set: where and how its code runs, but not
// what becomes of the results.
func inFiles(r flagRule) bool { return r.inFiles }

// applyFileFlags sets the flags that the first comment lines of a bench file ask for
// and that neither the command line nor the environment has set.
func applyFileFlags(path string, flags *pflag.FlagSet) error {
	words, line, err := readFileFlags(path)
	if err != nil || len(words) == 0 {
		return err
	}
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })

	wanted := pflag.NewFlagSet("", pflag.ContinueOnError)
	wanted.SetOutput(new(strings.Builder))
	flags.VisitAll(func(f *pflag.Flag) {
		if ruleOf(f.Name).inFiles {
			wanted.AddFlag(f)
		}
	})
	err = wanted.ParseAll(words, func(f *pflag.Flag, value string) error {
		if given[f.Name] {
			return nil
		}
		return flags.Set(f.Name, value)
	})
	if err == nil && wanted.NArg() > 0 {
		err = fmt.Errorf("%q is not a flag", wanted.Arg(0))
	}
	if err != nil {
		err = fmt.Errorf("%w; a bench file may set --%s", err, strings.Join(namesOf(inFiles), ", --"))
		return fmt.Errorf("%s:%d: %w", path, line, err)
	}
	return nil
}

// readFileFlags returns the words after the marks in the leading comment lines, and the
// number of the last such line.
func readFileFlags(path string) (words []string, number int, err error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("no bench file: %w", err)
	}
	defer f.Close()
	const mostHeader = 1 << 20
	lines := bufio.NewScanner(io.LimitReader(f, mostHeader))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "#!") {
			break
		}
		rest, ok := strings.CutPrefix(line, fileFlagMark)
		if !ok {
			continue
		}
		more, err := shellquote.Split(rest)
		if err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		words, number = append(words, more...), n
	}
	return words, number, nil // a line too long to scan holds no flags
}
