package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moonlap/moonlap/internal/nginxconf"
)

// A chunk is what the engine reads at a time: a Lua file, a piece of Lua in nginx.conf, or its directives.
type chunk struct {
	file   string
	text   []byte
	class  string
	phase  string // "" where nobody knows it, onRequests where it is one of theirs
	line   int    // of the first byte
	column int
	conf   *nginxconf.Config // its directives
}

// onRequests is a phase of requests, whichever.
const onRequests = "?"

func (c chunk) request(id int) []byte {
	if c.conf != nil {
		return request(directives(c.conf), "conf", id, c.class)
	}
	phase := cmp.Or(c.phase, "-")
	return request(c.text, "lua", id, c.class, phase, c.line, c.column)
}

var byLua = regexp.MustCompile(`^(\w+?)_by_lua(_block|_file)?$`)

// classOf is when the code of a phase runs.
func classOf(phase string) string {
	switch phase {
	case "init", "init_worker", "exit_worker":
		return Init
	}
	return Request
}

// confChunks are nginx.conf's directives, the Lua in it, and the files that it names. seen is called for each file.
func confChunks(config *nginxconf.Config, path string, seen func(string)) (chunks []chunk, phases map[string]string, faults []Fault) {
	for _, e := range config.Errors {
		faults = append(faults, Fault{File: e.Path, Line: e.Line, Column: e.Column, Message: e.Text})
	}
	phases = map[string]string{}
	for _, file := range config.Files {
		seen(file)
	}
	chunks = append(chunks, chunk{file: path, conf: config, class: Request})
	config.Each(func(d *nginxconf.Directive) {
		m := byLua.FindStringSubmatch(d.Name)
		if m == nil {
			return
		}
		c := chunk{file: config.Files[d.File], phase: m[1], class: classOf(m[1])}
		switch {
		case d.Lua != nil:
			c.text, c.line, c.column = []byte(d.Lua.Text), d.Lua.Line, d.Lua.Column
			chunks = append(chunks, c)
		case len(d.Args) == 0:
		case m[2] == "_file":
			if file := luaFile(path, d.Args[0].Text); m[1] != "set" && file != "" {
				phases[file] = m[1]
			}
		case m[2] == "":
			// A string's places are its own where nothing in it is escaped.
			code := d.Args[len(d.Args)-1]
			if m[1] == "set" && len(d.Args) > 1 {
				code = d.Args[1]
			}
			if code.Plain {
				c.text, c.line, c.column = []byte(code.Text), code.Line, code.Column
				chunks = append(chunks, c)
			}
		}
	})
	return chunks, phases, faults
}

// luaFile is a file that nginx.conf names, which may be relative to nginx's prefix or to the folder of nginx.conf; "" where
// it is in neither.
func luaFile(conf, name string) string {
	if strings.Contains(name, "$") {
		return ""
	}
	folder := filepath.Dir(conf)
	tries := []string{filepath.Join(folder, name), filepath.Join(filepath.Dir(folder), name)}
	if filepath.IsAbs(name) {
		tries = []string{name}
	}
	for _, file := range tries {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return filepath.Clean(file)
		}
	}
	return ""
}

// directives are those of a configuration as lua/moonlap/lint/conf.lua reads them.
func directives(c *nginxconf.Config) []byte {
	var b bytes.Buffer
	var write func(list []*nginxconf.Directive, depth int)
	write = func(list []*nginxconf.Directive, depth int) {
		for _, d := range list {
			block := "-"
			switch {
			case d.Lua != nil:
				block = "lua"
			case d.Braces:
				block = "{"
			}
			fmt.Fprintf(&b, "%d\t%d\t%d\t%d\t%s\t%s\t", depth, d.File, d.Line, d.Column, block, escape(d.Name))
			for _, a := range d.Args {
				b.WriteString(escape(a.Text) + "\t")
			}
			if d.Lua != nil {
				b.WriteString(escape(d.Lua.Text) + "\t")
			}
			b.WriteByte('\n')
			write(d.Block, depth+1)
		}
	}
	write(c.Directives, 0)
	return b.Bytes()
}

var escape = strings.NewReplacer("%", "%25", "\t", "%09", "\n", "%0A", "\r", "%0D").Replace
