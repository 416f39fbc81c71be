package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A realLoad is a program that others wrote, and what it does all the while: Lua code that gets the time at which it ends.
type realLoad struct{ name, code string }

var realLoads = []realLoad{
	{"rxi/json.lua", `
local json = dofile(sources .. "/json.lua/json.lua")
local value = { users = {} }
for n = 1, 50 do value.users[n] = { id = n, name = "user " .. n, tags = { "a", "b", n }, score = n / 3, active = n % 2 == 0 } end
local text = json.encode(value)
return function() json.decode(text) json.encode(value) end`},
	{"APItools/router.lua", `
local r = dofile(sources .. "/router.lua/router.lua").new()
local paths = {}
for n = 1, 40 do
    r:get("/v1/service" .. n .. "/users/:id/posts/:post", function(p) return p.id end)
    paths[n] = "/v1/service" .. n .. "/users/" .. n .. "/posts/7"
end
return function() for n = 1, 40 do r:execute("GET", paths[n]) end end`},
	{"lua-resty-template", `
package.path = sources .. "/lua-resty-template/lib/?.lua;" .. package.path
local template = require "resty.template"
local view = template.compile("<ul>{% for i, u in ipairs(users) do %}<li class=\"{{u.class}}\">{{i}}: {{u.name}} {*u.html*}</li>{% end %}</ul>")
local users = {}
for n = 1, 50 do users[n] = { class = "c" .. n, name = "<user> & " .. n, html = "<b>" .. n .. "</b>" } end
return function() view { users = users } end`},
}

// realDriver runs such code until a time of CPU has passed.
const realDriver = `
sources = arg[1]
local run = (function() %s
end)()
local stop = os.clock() + tonumber(arg[2])
while os.clock() < stop do run() end
`

// A realScore is how samples of compiled code have their innermost line.
type realScore struct {
	samples, compiled, line, ranges, none int
	lines                                 map[string]int // that were named in compiled code, and how often
	all                                   map[string]bool
}

// realLines profiles programs that others wrote and lua-resty-core in an nginx worker, and compares the lines with those of the interpreter.
func realLines(moonlap, sources string, length time.Duration) error {
	sources, err := filepath.Abs(sources)
	if err != nil {
		return err
	}
	fmt.Println("| load | samples | in compiled code | of these: a line | a range | neither | lines that -joff has, too |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	folder, err := os.MkdirTemp("", "moonlap-real.")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, l := range realLoads {
		file := filepath.Join(folder, "real.lua")
		if err := os.WriteFile(file, fmt.Appendf(nil, realDriver, l.code), 0o644); err != nil {
			return err
		}
		var scores [2]realScore
		for n, flags := range [][]string{nil, {"-joff"}} {
			run := append(append([]string{"luajit"}, flags...), file, sources, fmt.Sprint(length.Seconds()))
			if scores[n], err = realProfile(folder, moonlap, append([]string{"--"}, run...)...); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
		scores[0].print(l.name, scores[1])
	}
	return realCore(folder, moonlap, length)
}

// realCore does the same with lua-resty-core in a worker under load.
func realCore(folder, moonlap string, length time.Duration) error {
	s, err := startNginx(1)
	if err != nil {
		return err
	}
	defer s.stop()
	during, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := s.load(during, "/core", 4)
		done <- err
	}()
	time.Sleep(2 * time.Second) // its traces are made
	var scores [2]realScore
	for n := range scores {
		if scores[n], err = realProfile(folder, moonlap, "--pid", fmt.Sprint(s.worker), "--duration", length.String()); err != nil {
			break
		}
		if n == 0 {
			once, cancel := context.WithTimeout(during, time.Second)
			_, err = s.load(once, "/joff", 1)
			cancel()
			time.Sleep(time.Second)
		}
	}
	end()
	<-done
	if err != nil {
		return err
	}
	scores[0].print("lua-resty-core", scores[1])
	return nil
}

func realProfile(folder, moonlap string, what ...string) (s realScore, err error) {
	out := filepath.Join(folder, "profile.json")
	if text, err := exec.Command(moonlap, append([]string{"profile", "--by", "ebpf", "--hz", "997", "--out", out}, what...)...).CombinedOutput(); err != nil {
		return s, fmt.Errorf("%w\n%s", err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return s, err
	}
	var p struct {
		Stacks []struct {
			Count  int
			Frames []struct {
				Function, File, Kind string
				Line                 int
				Last                 int `json:"last_line"`
				Compiled             bool
			}
		}
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return s, err
	}
	s.lines, s.all = map[string]int{}, map[string]bool{}
	for _, stack := range p.Stacks {
		s.samples += stack.Count
		innermost := true
		for n := len(stack.Frames) - 1; n >= 0; n-- {
			f := stack.Frames[n]
			if f.Kind != "lua" {
				continue
			}
			at := fmt.Sprintf("%s:%d", f.File, f.Line)
			if f.Line > 0 && f.Last <= f.Line {
				s.all[at] = true
			}
			if !innermost {
				continue
			}
			innermost = false
			switch {
			case !f.Compiled:
				continue
			case f.Line == 0:
				s.none += stack.Count
			case f.Last > f.Line:
				s.ranges += stack.Count
			default:
				s.line += stack.Count
				s.lines[at] += stack.Count
			}
			s.compiled += stack.Count
		}
	}
	return s, nil
}

func (s realScore) print(name string, interpreted realScore) {
	same := 0
	for at, count := range s.lines {
		if interpreted.all[at] {
			same += count
		} else if os.Getenv("VERBOSE") != "" {
			fmt.Fprintln(os.Stderr, at, count)
		}
	}
	of := float64(s.compiled)
	fmt.Printf("| %s | %d | %s | %s | %s | %s | %s |\n", name, s.samples, share(of, float64(s.samples)), share(float64(s.line), of),
		share(float64(s.ranges), of), share(float64(s.none), of), share(float64(same), float64(s.line)))
}
