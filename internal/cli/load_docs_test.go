package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestLoadReferenceHasEveryFlag: what --help names, the reference explains.
func TestLoadReferenceHasEveryFlag(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/load.md")
	if err != nil {
		t.Fatal(err)
	}
	newLoadCommand(Sys{}).Flags().VisitAll(func(f *pflag.Flag) {
		if !regexp.MustCompile("`[^`\n]*--" + f.Name + `\b`).Match(text) {
			t.Errorf("--%s is not in docs/reference/load.md", f.Name)
		}
	})
}

// TestLoadCommandsOfTheDocs: every command in the pages and in the help is one that moonlap takes.
func TestLoadCommandsOfTheDocs(t *testing.T) {
	texts := map[string]string{"--help": newLoadCommand(Sys{}).Example}
	for _, root := range []string{"../../docs", "../../README.md", "../../examples"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			texts[path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	commands := 0
	for path, text := range texts {
		for _, line := range loadCommands(text) {
			commands++
			if err := takesLoad(t, line); err != nil {
				t.Errorf("%s: moonlap load %s: %v", path, strings.Join(line, " "), err)
			}
		}
	}
	if commands < 15 {
		t.Errorf("%d commands were found", commands)
	}
}

var (
	loadLine = regexp.MustCompile(`(?m)^\s*(?:\$ |run: |bin/)?(?:bin/)?moonlap load ((?:[^\n]*\\\n)*[^\n]*)$`)
	shellArg = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
	aFile    = regexp.MustCompile(`\.(lua|conf|pem|txt|jsonl)$`)
)

// loadCommands are the arguments of the commands in a page.
func loadCommands(text string) (commands [][]string) {
	for _, m := range loadLine.FindAllStringSubmatch(text, -1) {
		var args []string
		for _, arg := range shellArg.FindAllString(strings.ReplaceAll(m[1], "\\\n", " "), -1) {
			if arg == "#" || arg == "|" || arg == ">" || arg == ">>" || arg == "&&" {
				break
			}
			args = append(args, strings.Trim(arg, `'"`))
		}
		commands = append(commands, args)
	}
	return commands
}

// takesLoad is why a command would be refused before it begins. The files that it names are there.
func takesLoad(t *testing.T, args []string) error {
	for _, arg := range args {
		if aFile.MatchString(arg) && filepath.IsLocal(arg) {
			if err := os.MkdirAll(filepath.Dir(arg), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(arg, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := newLoadOptions()
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, args []string) error {
		if o.join {
			return nil
		}
		if err := o.complete(cmd, args); err != nil {
			return err
		}
		_, err := o.plan()
		return err
	}}
	o.addFlags(cmd)
	cmd.SetArgs(args)
	return cmd.Execute()
}
