package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
)

const root = "../.."

// A page is a Markdown file, in lines.
type page struct {
	name  string // path from the root
	lines []string
}

// A block is a fenced console block of a page.
type block struct {
	id       string
	env      []string // for the test
	wants    []string // what its commands must print, among other things
	commands []command
}

// A command is one line "$ …" and the lines that it printed.
type command struct {
	line     int // of the page, from 1
	text     string
	from, to int // lines of the output: page.lines[from:to]
}

func readPage(t *testing.T, name string) *page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return &page{name, strings.Split(string(text), "\n")}
}

func (p *page) write(t *testing.T) {
	t.Helper()
	text := strings.Join(p.lines, "\n")
	if err := os.WriteFile(filepath.Join(root, p.name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// blocks finds the console blocks of a page.
func (p *page) blocks(t *testing.T) []block {
	t.Helper()
	var found []block
	next := block{}
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		if words, ok := strings.CutPrefix(line, "<!-- console "); ok {
			next = p.settings(t, i, strings.TrimSuffix(words, "-->"))
		}
		if line != "```console" {
			continue
		}
		end := i + 1
		for ; end < len(p.lines) && p.lines[end] != "```"; end++ {
			if text, ok := strings.CutPrefix(p.lines[end], "$ "); ok {
				next.commands = append(next.commands, command{end + 1, text, end + 1, end + 1})
			} else if n := len(next.commands); n == 0 {
				t.Fatalf("%s:%d: a console block begins with a command, \"$ …\"", p.name, end+1)
			} else {
				next.commands[n-1].to = end + 1
			}
		}
		if end == len(p.lines) || len(next.commands) == 0 {
			t.Fatalf("%s:%d: a console block without an end, or without a command", p.name, i+1)
		}
		found = append(found, next)
		next, i = block{}, end
	}
	return found
}

func (p *page) settings(t *testing.T, i int, text string) (b block) {
	words, err := shellquote.Split(text)
	if err != nil {
		t.Fatalf("%s:%d: %v", p.name, i+1, err)
	}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case key == "id":
			b.id = value
		case key == "wants":
			b.wants = append(b.wants, value)
		case ok && strings.HasPrefix(key, "MOONLAP_"):
			b.env = append(b.env, word)
		default:
			t.Fatalf("%s:%d: %q is not a setting of a console block", p.name, i+1, word)
		}
	}
	return b
}
