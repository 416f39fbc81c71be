package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/cli"
)

// TestFlags holds docs/reference/bench.md to the program's own help: no flag is missing
// there, and none is made up.
func TestFlags(t *testing.T) {
	text := help(t, "help", "bench")
	_, flags, ok := strings.Cut(text, "\nFlags:\n")
	if !ok {
		t.Fatalf("no flags in\n%s", text)
	}
	same(t, found(flags, `(?m)^ {2,6}(?:-\w, )?--([a-z-]+)`),
		found(section(t, "docs/reference/bench.md", "Flags"), "(?m)^\\| (?:`-\\w`, )?`--([a-z-]+)"))
}

// help is what the program prints.
func help(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	sys := cli.Sys{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Getenv: func(string) string { return "" }, Width: func() int { return 80 },
	}
	if code := cli.Main(t.Context(), sys, args); code != cli.ExitOK {
		t.Fatalf("%v ends with %d: %s", args, code, out.String())
	}
	return out.String()
}

// TestExitStatus holds each page's table to the codes that the command's help names.
func TestExitStatus(t *testing.T) {
	codes := func(args ...string) []string {
		_, text, _ := strings.Cut(help(t, append([]string{"help"}, args...)...), "\nExit status:\n")
		return found(text, `(?m)^  (\d+) +\w`)
	}
	for _, command := range []string{"bench", "explain", "heap", "load", "profile", "watch"} {
		table := section(t, "docs/reference/"+command+".md", "Exit status")
		same(t, codes(command), found(table, `(?m)^\| (\d+) \|`))
	}
	same(t, codes(), found(read(t, "CONTRIBUTING.md"), `(?m)^\| (\d+) \|`))
}

// TestWarnings wants an entry for every code that the statistics know, and no other. Those of whole
// commands are on the page of moonlap time.
func TestWarnings(t *testing.T) {
	var source strings.Builder
	walk(t, "internal/stat", ".go", func(name string) {
		if !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "stat/whole/") {
			source.WriteString(read(t, name))
		}
	})
	want := found(source.String(), `(?:Code:\s*|warn\()"(\w+)"`)
	same(t, want, found(section(t, "docs/reference/bench.md", "Warnings"), "(?m)^\\| `(\\w+)` \\|"))
}

// TestBenchFields wants every field of moonlap.bench, and every module of moonlap.
func TestBenchFields(t *testing.T) {
	source := read(t, "lua/moonlap/bench/registry.lua")
	fields := between(t, source, "local FIELDS = {", "}")
	api := section(t, "docs/reference/lua-api.md", "The bench file")
	same(t, found(fields, `(\w+) = "`), found(api, "(?m)^\\| `(\\w+)` \\|"))

	modules := between(t, read(t, "lua/moonlap/init.lua"), "SUBMODULES = {", "}")
	want := append(found(modules, `(\w+) = true`), "keep")
	slices.Sort(want)
	same(t, want, found(section(t, "docs/reference/lua-api.md", "Modules"), "(?m)^### `moonlap\\.(\\w+)"))

	allowed := found(read(t, "internal/cli/flagtable.go"), `name: "([a-z-]+)".*inFiles: true`)
	same(t, allowed, found(between(t, api, "\nAllowed are", "\n\n"), "`--([a-z-]+)`"))
}

// TestGoCode wants all Go code of the library's page in its tests, which run it. Lua's and
// nginx's is run by spec/pages_spec.lua.
func TestGoCode(t *testing.T) {
	var tests strings.Builder
	walk(t, "lap", "page_test.go", func(name string) { tests.WriteString(read(t, name)) })
	code := unindented(tests.String())
	blocks := regexp.MustCompile("(?s)\n```go\n(.*?\n)```\n").FindAllStringSubmatch(read(t, "docs/reference/lap.md"), -1)
	for _, block := range blocks {
		if !strings.Contains(code, unindented(block[1])) {
			t.Errorf("no page_test.go of lap runs what docs/reference/lap.md shows:\n%s", block[1])
		}
	}
	if len(blocks) < 4 {
		t.Errorf("%d blocks of Go in docs/reference/lap.md: has their form changed?", len(blocks))
	}
}

// unindented is text without what stands before each line's first word.
func unindented(text string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, "")
}

// TestLinks follows every relative link of every page, and its anchor where it has one.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	count := 0
	walk(t, ".", ".md", func(name string) {
		for _, found := range link.FindAllStringSubmatch(read(t, name), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			count++
			file := name
			if target != "" {
				file = filepath.Join(filepath.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, found[1])
			} else if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s: %s has no heading #%s", name, file, anchor)
			}
		}
	})
	if count < 20 {
		t.Errorf("only %d links found: does the walk still start at the root?", count)
	}
}

// TestIndex wants every page of docs linked from its index; decisions are there as a folder.
func TestIndex(t *testing.T) {
	index := read(t, "docs/README.md")
	walk(t, "docs", ".md", func(name string) {
		if page := strings.TrimPrefix(name, "docs/"); page != "README.md" && !strings.HasPrefix(page, "decisions/") &&
			!strings.Contains(index, "]("+page+")") {
			t.Errorf("docs/README.md does not link to %s", page)
		}
	})
}

// anchors are those of a page's headings, as GitHub makes them.
func anchors(text string) (all []string) {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, heading := range found(text, `(?m)^#+ (.+)$`) {
		all = append(all, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(heading), ""), " ", "-"))
	}
	return all
}

func same(t *testing.T, program, page []string) {
	t.Helper()
	if len(program) == 0 {
		t.Error("nothing was found in the program: has its form changed?")
	}
	if diff := cmp.Diff(program, page); diff != "" {
		t.Errorf("the program (-) and the page (+) differ:\n%s", diff)
	}
}

// found are all first groups of a pattern in text, sorted, each once.
func found(text, pattern string) (all []string) {
	for _, groups := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, groups[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// section is a page from a heading of the second level to the next such.
func section(t *testing.T, name, heading string) string {
	t.Helper()
	return between(t, read(t, name)+"\n## ", "\n## "+heading+"\n", "\n## ")
}

func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, begin)
	inside, _, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("no %q … %q", begin, end)
	}
	return inside
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// walk calls do with each file below a folder, less the hidden folders.
func walk(t *testing.T, folder, suffix string, do func(name string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && len(d.Name()) > 2 && d.Name()[0] == '.':
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, suffix):
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			do(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
