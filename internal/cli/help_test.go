package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/record"
)

// TestHelpFits: --help fits on a screen of 80 columns and 24 lines with the prompt behind it, help COMMAND on 80 columns, and names every flag. Neither names
// a type of Go's.
func TestHelpFits(t *testing.T) {
	types := regexp.MustCompile(`(?m)^ +(?:-\w, )?--[a-z-]+ (string|int|uint|float|duration)\w*\b`)
	for _, newCommand := range commands {
		cmd := newCommand(Sys{})
		if cmd.Hidden || cmd.HasSubCommands() {
			continue
		}
		short, long := shortHelp(cmd), longHelp(cmd)
		if lines := strings.Count(short, "\n"); lines > 23 { // and the prompt
			t.Errorf("%s --help has %d lines:\n%s", cmd.Name(), lines, short)
		}
		for line := range strings.Lines(short + long) {
			if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > helpWidth {
				t.Errorf("%s: %d columns: %s", cmd.Name(), width, line)
			}
		}
		if goType := types.FindString(short + long); goType != "" {
			t.Errorf("%s names a type of Go's: %s", cmd.Name(), goType)
		}
		for _, name := range screenFlags[cmd.Name()] {
			if !strings.Contains(long, "--"+name) {
				t.Errorf("help %s lacks --%s", cmd.Name(), name)
			}
		}
	}
	var root strings.Builder
	cmd := newRootCommand(Sys{})
	cmd.SetOut(&root)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(root.String(), "\n"); lines > 23 {
		t.Errorf("moonlap --help has %d lines:\n%s", lines, root.String())
	}
	for line := range strings.Lines(root.String()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > helpWidth {
			t.Errorf("moonlap --help: %d columns: %s", width, line)
		}
	}
	for name := range screenFlags {
		if cmd, _, err := newRootCommand(Sys{}).Find([]string{name}); err != nil || cmd.Name() != name {
			t.Errorf("flags of %s, which is no command", name)
		}
	}
}

// TestRemedyOfPlans: a bench file that cannot be loaded for want of a module is answered with where to name it.
func TestRemedyOfPlans(t *testing.T) {
	fault := record.Fault{Text: "module 'no.such' not found:\n\tno field package.preload['no.such']\n\tno file './no/such.lua'"}
	fault.File, fault.Line = "a.lua", 2
	want := "a.lua:2: module 'no.such' not found\nSay where the module is: LUA_PATH='/folder/?.lua;;', LUA_CPATH for a module in C."
	if got := withRemedy(&bench.PlanError{Fault: fault}).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestManPages: what is laid out fits 80 columns where it stands, and no mark is one too many for mandoc.
func TestManPages(t *testing.T) {
	root := newRootCommand(Sys{})
	for _, cmd := range append(root.Commands(), root) {
		indent, laidOut, before := 0, false, ""
		for line := range strings.Lines(string(manPage(cmd))) {
			line = strings.TrimSuffix(line, "\n")
			_, _ = fmt.Sscanf(line, ".in %dn", &indent)
			switch {
			case line == ".nf" || line == ".fi":
				laidOut = line == ".nf"
			case line == ".PP" && strings.HasPrefix(before, ".SH"):
				t.Errorf("%s: a paragraph is marked where a section begins", cmd.Name())
			case laidOut && indent+utf8.RuneCountInString(strings.ReplaceAll(strings.ReplaceAll(line, `\&`, ""), `\`, "")) > helpWidth:
				t.Errorf("%s: too wide: %s", cmd.Name(), line)
			}
			before = line
		}
	}
}
