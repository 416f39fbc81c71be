package runtime

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// Phases are the nginx phases in which a job can run.
var Phases = []string{
	PhaseTimer, "init_worker", "set", "rewrite", "access", "balancer",
	"content", "header_filter", "body_filter", "log",
}

// An nginxConf is a configuration that runs a job, and where in it the user's
// directives stand.
type nginxConf struct {
	Modules  []string // dynamic modules to load
	Without  []string // HTTP modules that are not compiled in
	User     string   // user and group of the workers; "" to leave them
	Workers  int
	Env      []string // names of variables that the workers inherit
	Phase    string
	Socket   string
	MainConf []string
	HTTPConf []string
	Library  string // folder of the Lua library
	Call     string // Lua: what does the job
	folder   string

	origins []origin
}

// An origin is a run of lines in the configuration that one flag gave.
type origin struct {
	flag        string
	number, of  int // which of the flag's uses
	first, last int // lines of the configuration, from 1
	text        string
}

//go:embed nginx.conf.tmpl
var confText string

var confTemplate = template.Must(template.New("nginx.conf").Parse(confText))

// render makes the configuration's text.
func (c *nginxConf) render() (string, error) {
	var b strings.Builder
	if err := confTemplate.Execute(&b, c); err != nil {
		return "", err
	}
	text := b.String()
	c.origins = nil
	for _, flag := range []struct {
		name  string
		texts []string
	}{{"--main-conf", c.MainConf}, {"--http-conf", c.HTTPConf}} {
		for i, user := range flag.texts {
			marker := marker(flag.name, i)
			before, after, found := strings.Cut(text, marker+"\n")
			if !found {
				return "", fmt.Errorf("the nginx configuration has no place for %s", flag.name)
			}
			first := strings.Count(before, "\n") + 2
			c.origins = append(c.origins, origin{
				flag: flag.name, number: i + 1, of: len(flag.texts), text: user,
				first: first, last: first + strings.Count(user, "\n"),
			})
			text = before + marker + "\n" + user + "\n" + after
		}
	}
	return text, nil
}

// The template's helpers.

// In is a path in the process's private folder.
func (c *nginxConf) In(name string) string { return quoteConf(filepath.Join(c.folder, name)) }

// Quote is a word of a configuration.
func (c *nginxConf) Quote(s string) string { return quoteConf(s) }

// Mains and HTTPs are markers for the user's directives, which are put in afterwards
// so that their lines can be counted.
func (c *nginxConf) Mains() []string { return markers("--main-conf", c.MainConf) }
func (c *nginxConf) HTTPs() []string { return markers("--http-conf", c.HTTPConf) }

func markers(flag string, texts []string) []string {
	all := make([]string, len(texts))
	for i := range texts {
		all[i] = marker(flag, i)
	}
	return all
}

func marker(flag string, i int) string { return fmt.Sprintf("# %s, number %d:", flag, i+1) }

// Buffering are the modules that keep files in a folder of their own, which nginx makes at the
// start even when nothing uses them; whoever configured nginx may have put it where we must not write.
// A module that is not compiled in does not know the directive.
func (c *nginxConf) Buffering() []string {
	all := []string{"proxy", "fastcgi", "uwsgi", "scgi"}
	return slices.DeleteFunc(all, func(m string) bool { return slices.Contains(c.Without, m) })
}

// OwnEvents reports whether the user's directives have an events block, of which there
// can be but one.
func (c *nginxConf) OwnEvents() bool { return c.mainHas(eventsBlock) }

// Spread reports whether each worker gets a CPU of its own, where there are enough: the
// kernel may well put two busy workers on one, where they take turns and never contend.
func (c *nginxConf) Spread() bool {
	return c.Workers > 1 && c.Workers <= goruntime.NumCPU() && !c.mainHas(affinity)
}

func (c *nginxConf) mainHas(directive *regexp.Regexp) bool {
	return slices.ContainsFunc(c.MainConf, directive.MatchString)
}

var (
	eventsBlock = regexp.MustCompile(`(?m)^\s*events\s*\{`)
	affinity    = regexp.MustCompile(`(?m)^\s*worker_cpu_affinity\s`)
)

// Enter is the Lua that does the job where it stands. An error there means that the
// library itself failed: the worker ends, and so everything.
func (c *nginxConf) Enter() string {
	return "package.path = " + quoteLua(luaPath(c.Library)+";") + " .. package.path\n" +
		"            local ok, err = xpcall(function() " + c.Call + " end, debug.traceback)\n" +
		"            if not ok then io.stderr:write(err, \"\\n\") os.exit(1) end"
}

// Filter reports whether the phase comes after the answer's content.
func (c *nginxConf) After() bool {
	return c.Phase == "header_filter" || c.Phase == "body_filter" || c.Phase == "log"
}

// quoteConf makes s one word of an nginx configuration.
func quoteConf(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// userConf makes configuration text of what the user gave: directives, or @FILE.
func userConf(flag, dir string, given []string) ([]string, error) {
	texts := make([]string, len(given))
	for i, text := range given {
		file, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			texts[i] = text
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // nginx would wait for a pipe; it says what is missing
			return nil, fmt.Errorf("%s: %s is no plain file", flag, path)
		}
		texts[i] = "include " + quoteConf(path) + ";"
	}
	return texts, nil
}

var (
	confPosition = regexp.MustCompile(` in (.+):(\d+)$`)
	// confSyntax is what nginx says where a brace or its like went astray, as opposed to a
	// module that is missing or a file that cannot be read.
	confSyntax = regexp.MustCompile(`unexpected |not terminated|unknown directive|is not allowed here|invalid number of arguments|has no (opening|closing)`)
)

// blame says which of the user's directives nginx's lines point at, if any.
func (c *nginxConf) blame(lines []string) string {
	for _, line := range lines {
		m := confPosition.FindStringSubmatch(line)
		if m == nil || filepath.Dir(m[1]) != c.folder {
			continue
		}
		at, _ := strconv.Atoi(m[2])
		for _, o := range c.origins {
			if at < o.first || at > o.last {
				continue
			}
			which := o.flag
			if o.of > 1 {
				which = fmt.Sprintf("%s number %d", o.flag, o.number)
			}
			text := strings.Split(o.text, "\n")[at-o.first]
			return fmt.Sprintf("this is %s, line %d: %s", which, at-o.first+1, strings.TrimSpace(text))
		}
		if len(c.origins) > 0 && confSyntax.MatchString(line) {
			return "this line is moonlap's own; is a brace, a quote or a semicolon missing in --main-conf or --http-conf?"
		}
	}
	return ""
}
