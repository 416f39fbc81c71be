package exec

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A twin says how an interpreter is started with nothing to do.
type twin struct {
	program *regexp.Regexp
	nothing []string // the arguments that make it do nothing
	keep    string   // options that change how it starts: single letters, value behind
	keepTwo string   // the same with the value as the next word
	keepAll bool     // all options before the script belong to the start, long ones too
	flags   []string // of those, the ones without a value
	code    []string // options with code, which are the work and not the start
}

var twins = []twin{
	{program: regexp.MustCompile(`^luajit[\d.-]*(beta\d+)?$`), nothing: []string{"-e", ""}, keep: "jOE", code: []string{"-e", "-l"}},
	{program: regexp.MustCompile(`^lua[\d.]*$`), nothing: []string{"-e", ""}, keep: "EW", code: []string{"-e", "-l"}},
	{program: regexp.MustCompile(`^resty(-cli)?$`), nothing: []string{"-e", ""}, keepAll: true,
		flags: []string{"--gdb", "--rr", "--valgrind"}, code: []string{"-e", "-l"}},
	{program: regexp.MustCompile(`^(nginx|openresty)$`), nothing: []string{"-v"}},
	{program: regexp.MustCompile(`^(ba|da|z|k|mk|a)?sh$`), nothing: []string{"-c", ""}},
	{program: regexp.MustCompile(`^p(ython|ypy)[\d.]*$`), nothing: []string{"-c", ""}, keep: "SIEsBOuv", keepTwo: "XW", code: []string{"-c", "-m"}},
	{program: regexp.MustCompile(`^perl[\d.]*$`), nothing: []string{"-e", ""}, keep: "TW", code: []string{"-e", "-E"}},
	{program: regexp.MustCompile(`^(node|nodejs)$`), nothing: []string{"-e", ""}, code: []string{"-e"}},
}

// Guess returns the empty twin of a command: the same program, started in the same way,
// with nothing to do. It is nil for a program that it does not know.
func Guess(args []string) []string {
	prefix := assignments(args)
	rest := args[len(prefix):]
	if len(rest) == 0 {
		return nil
	}
	name := filepath.Base(rest[0])
	if name == "moonlap" && len(rest) > 1 && rest[1] == "run" {
		run := twin{nothing: []string{"-e", ""}, keepAll: true, code: []string{"-e", "--eval"}}
		return slices.Concat(prefix, rest[:2], run.start(rest[2:]), run.nothing)
	}
	for _, t := range twins {
		if t.program.MatchString(name) {
			return slices.Concat(prefix, rest[:1], t.start(rest[1:]), t.nothing)
		}
	}
	return nil
}

// assignments are the words of `env NAME=value …` at the beginning.
func assignments(args []string) []string {
	if len(args) == 0 || filepath.Base(args[0]) != "env" {
		return nil
	}
	n := 1
	for n < len(args) && strings.Contains(args[n], "=") && !strings.HasPrefix(args[n], "-") {
		n++
	}
	if n < len(args) && strings.HasPrefix(args[n], "-") {
		return args[:0] // options of env itself: not understood
	}
	return args[:n]
}

// start are the options among args that belong to the start of the program.
func (t twin) start(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		if !strings.HasPrefix(word, "-") || word == "-" || word == "--" {
			break // the script
		}
		switch {
		case slices.Contains(t.code, word):
			i++
		case slices.ContainsFunc(t.code, func(c string) bool { return len(c) == 2 && strings.HasPrefix(word, c) }):
		case t.keepAll:
			kept = append(kept, word)
			if !slices.Contains(t.flags, word) && !strings.Contains(word, "=") && len(word) > 1 && i+1 < len(args) && !attached(word) {
				i++
				kept = append(kept, args[i])
			}
		case strings.ContainsRune(t.keepTwo, rune(word[1])):
			kept = append(kept, word)
			if len(word) == 2 && i+1 < len(args) {
				i++
				kept = append(kept, args[i])
			}
		case strings.ContainsRune(t.keep, rune(word[1])):
			kept = append(kept, word)
		}
	}
	return kept
}

// attached tells of a short option with its value in the same word: -joff, -I/lib.
func attached(word string) bool { return !strings.HasPrefix(word, "--") && len(word) > 2 }
