package nginxconf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// draw writes directives a line each, indented, with file and line.
func draw(list []*Directive, indent string) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%s%d:%d:%d %s %q", indent, d.File, d.Line, d.Column, d.Name, d.words())
		if d.Lua != nil {
			fmt.Fprintf(&b, " Lua %d:%d %q", d.Lua.Line, d.Lua.Column, d.Lua.Text)
		}
		b.WriteString("\n" + draw(d.Block, indent+"  "))
	}
	return b.String()
}

func write(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestRead(t *testing.T) {
	folder := write(t, map[string]string{
		"nginx.conf": "user \"www data\";\r\nhttp {\n  include conf.d/*.conf; # }\n  map $a $b { \"~*{\" 'it\\'s'; }\n}\n",
		"conf.d/a.conf": `server {
  location / { content_by_lua_block {
    ngx.say("}") -- {
  } }
}`,
		"conf.d/b.conf": "log_format x '$a'\n  \"b\";\n",
	})
	c := Read(filepath.Join(folder, "nginx.conf"))
	want := `0:1:1 user ["www data"]
0:2:1 http []
  0:3:3 include ["conf.d/*.conf"]
  1:1:1 server []
    1:2:3 location ["/"]
      1:2:16 content_by_lua_block [] Lua 2:38 "\n    ngx.say(\"}\") -- {\n  "
  2:1:1 log_format ["x" "$a" "b"]
  0:4:3 map ["$a" "$b"]
    0:4:16 ~*{ ["it's"]
`
	if diff := cmp.Diff(want, draw(c.Directives, "")); diff != "" || len(c.Errors) > 0 {
		t.Errorf("%s%v", diff, c.Errors)
	}
}

// placed is an error's text behind its place.
func placed(e Error) string { return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Text) }

// TestErrors: each names file, line and what is wrong, and the rest of the configuration is read.
func TestErrors(t *testing.T) {
	folder := write(t, map[string]string{
		"cycle.conf":   "include other.conf;\nuser a;\n",
		"other.conf":   "user b;\ninclude cycle.conf;\n",
		"missing.conf": "include none.conf;\nuser a;\n",
		"broken.conf":  "http {\n  include bad.conf;\n  server { }\n}\n",
		"bad.conf":     "upstream u {\n  server a;\n",
		"folder.conf":  "include .;\n",
		"open.conf":    "http {\n  server {\n",
		"lua.conf":     "http {\n  init_by_lua_block { x = [[ }\n}\n",
		"long.conf":    "init_by_lua_block { --[[" + strings.Repeat("a", 4096) + "]]\n}\n",
		"two.conf":     "include;\n",
		"close.conf":   "user a;\n}\nuser b;\n",
		"semi.conf":    "user a\n}\n",
		"block.conf":   "http {\n  charset utf-8\n  server {\n    index a\n    content_by_lua_block { x = '}' }\n  }\n}\n",
		"bom.conf":     "\xef\xbb\xbfuser a;\n",
		"deep.conf":    strings.Repeat("a {", 200) + strings.Repeat("}", 200),
	})
	for name, want := range map[string]string{
		"cycle.conf":   "other.conf:2:1: the include is a cycle: DIR/cycle.conf is being read already",
		"missing.conf": "missing.conf:1:1: cannot include DIR/none.conf: no such file or directory",
		"broken.conf":  "bad.conf:3:1: unexpected end of file: the '}' of upstream in line 1 is missing",
		"folder.conf":  "folder.conf:1:1: cannot include DIR: it is not a file",
		"open.conf":    "open.conf:3:1: unexpected end of file: the '}' of server in line 2 is missing",
		"lua.conf":     "lua.conf:2:3: the Lua block has a long bracket that does not end within nginx's buffer of 4096 bytes: close it, or put the Lua into a file of its own",
		"long.conf":    "long.conf:1:1: the Lua block has a long bracket that does not end within nginx's buffer of 4096 bytes: close it, or put the Lua into a file of its own",
		"two.conf":     "two.conf:1:1: include takes one name",
		"close.conf":   "close.conf:2:1: unexpected '}'",
		"semi.conf":    "semi.conf:2:1: unexpected '}': a ';' is missing behind user",
		"bom.conf":     "bom.conf:1:1: the file begins with a byte order mark, which nginx refuses: remove it",
		"deep.conf":    "deep.conf:1:301: more than 100 blocks in each other",
		"none.conf":    "none.conf:1:1: no such file or directory",
	} {
		c := Read(filepath.Join(folder, name))
		got := []string{}
		for _, e := range c.Errors {
			got = append(got, strings.ReplaceAll(strings.Replace(placed(e), folder+"/", "", 1), folder, "DIR"))
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c := Read(filepath.Join(folder, "block.conf"))
	if got := draw(c.Directives, ""); len(c.Errors) != 2 || !strings.Contains(got, "    0:5:5 content_by_lua_block") {
		t.Errorf("a missing ';' hides the block behind it: %v\n%s", c.Errors, got)
	}
	if got, want := placed(c.Errors[0]), folder+"/block.conf:2:3: a ';' is missing behind charset"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	c = Read(filepath.Join(folder, "broken.conf"))
	if got := draw(c.Directives, ""); !strings.Contains(got, "0:3:3 server") {
		t.Errorf("what follows a broken include is lost:\n%s", got)
	}
}

// FuzzParse: whatever the text is, reading ends, and every place lies in it.
func FuzzParse(f *testing.F) {
	for _, c := range hard {
		f.Add([]byte(c))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := parsed("x", text)
		lines := strings.Split(string(text), "\n")
		inside := func(p Place) {
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+2 {
				t.Errorf("%+v is no place in %q", p, text)
			}
		}
		c.Each(func(d *Directive) {
			inside(d.Place)
			for _, a := range d.Args {
				inside(a.Place)
				if at := offset(lines, a.Place); a.Plain && !strings.HasPrefix(string(text[min(at, len(text)):]), a.Text) {
					t.Errorf("%q is not at %+v of %q", a.Text, a.Place, text)
				}
			}
			if d.Lua != nil {
				inside(d.Lua.Place)
				if at := offset(lines, d.Lua.Place); !strings.HasPrefix(string(text[at:]), d.Lua.Text+"}") {
					t.Errorf("the Lua %q is not at %+v of %q", d.Lua.Text, d.Lua.Place, text)
				}
			}
		})
		for _, e := range c.Errors {
			inside(Place{Line: e.Line, Column: e.Column})
		}
	})
}

func offset(lines []string, p Place) (n int) {
	for _, line := range lines[:p.Line-1] {
		n += len(line) + 1
	}
	return n + p.Column - 1
}

// parsed reads a configuration from text, without what it includes.
func parsed(path string, text []byte) *Config {
	r := &reader{config: &Config{Files: []string{path}}}
	r.config.Directives = r.parse(newLexer(text, 0), nil, 0)
	return r.config
}

// words are the texts of the arguments.
func (d *Directive) words() []string {
	words := make([]string, len(d.Args))
	for i, a := range d.Args {
		words[i] = a.Text
	}
	return words
}
