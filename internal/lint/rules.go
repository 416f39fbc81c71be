package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/rules"
)

// A Rule is a folder of rules.
type Rule struct {
	Name   string
	Path   string // of rule.lua, as errors name it
	Own    bool   // the user's: it may do what moonlap's own do not, and is watched
	Source string
	About  string // about.md
	// Bad and Good are the pair that shows what the rule is about: bench files, or parts of nginx.conf. "" is none.
	Bad, Good string
	Conf      bool // the pair is nginx.conf
}

// Title is the first line of about.md, without its mark.
func (r Rule) Title() string {
	line, _, _ := strings.Cut(r.About, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "# "))
}

// Fact is what about.md says behind a word at the beginning of a line, as in "Found: 42 in 28 files"; "" is nothing.
func (r Rule) Fact(word string) string {
	for line := range strings.Lines(r.About) {
		if text, ok := strings.CutPrefix(line, word+": "); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// OnlyWhenAsked reports whether a rule is off unless it is asked for: about.md says why.
func (r Rule) OnlyWhenAsked() bool { return r.Fact("Only when asked") != "" }

// BuiltIn are moonlap's own rules, by name.
func BuiltIn() []Rule {
	list, err := readRules(rules.Files, "rules")
	if err != nil {
		panic(err) // they are embedded
	}
	return list
}

// readRules reads the folders of rules in tree; where is what errors call it.
func readRules(tree fs.FS, where string) (list []Rule, err error) {
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		rule, err := readRule(tree, e.Name(), where)
		if err != nil {
			return nil, err
		}
		list = append(list, rule)
	}
	return list, nil
}

var ruleName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func readRule(tree fs.FS, name, where string) (Rule, error) {
	r := Rule{Name: name, Path: path.Join(where, name, "rule.lua")}
	if !ruleName.MatchString(name) {
		return r, fmt.Errorf("%s: a rule is named by lower-case letters, digits and '-'", path.Join(where, name))
	}
	source, err := fs.ReadFile(tree, path.Join(name, "rule.lua"))
	if err != nil {
		return r, fmt.Errorf("%s: a rule is a folder with rule.lua: %w", path.Join(where, name), err)
	}
	r.Source = string(source)
	optional := func(file string) string {
		text, _ := fs.ReadFile(tree, path.Join(name, file))
		return string(text)
	}
	r.About, r.Bad, r.Good = optional("about.md"), optional("bad.lua"), optional("good.lua")
	if r.Bad == "" {
		r.Bad, r.Good = optional("bad.conf"), optional("good.conf")
		r.Conf = r.Bad != ""
	}
	return r, nil
}

// Rules are moonlap's own and those of the user's folders; of two with one name the user's counts.
func Rules(folders []string) ([]Rule, error) {
	list := BuiltIn()
	for _, folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			return nil, fmt.Errorf("rule_folders: %s: %w", folder, errors.Unwrap(err))
		}
		own, err := readRules(os.DirFS(folder), filepath.ToSlash(folder))
		if err != nil {
			return nil, err
		}
		for _, r := range own {
			r.Own = true
			list = slices.DeleteFunc(list, func(other Rule) bool { return other.Name == r.Name })
			list = append(list, r)
		}
	}
	return list, nil
}
