package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

var (
	wait    = profile.Frame{Kind: profile.C, Function: "epoll_wait", File: "libc.so.6"}
	main    = profile.Frame{Kind: profile.C, Function: "main", File: "nginx"}
	handler = profile.Frame{Kind: profile.Lua, Function: "handler", File: "/srv/app.lua", FirstLine: 20, Line: 24}
	execute = profile.Frame{Kind: profile.Builtin, Function: "os.execute"}
	wait4   = profile.Frame{Kind: profile.C, Function: "wait4", File: "libc.so.6"}
	deflate = profile.Frame{Kind: profile.C, Function: "deflate", File: "libz.so.1"}
)

func at(f profile.Frame, line int) profile.Frame { f.Line = line; return f }

func times(n int, samples ...sample.Sample) []sample.Sample {
	var all []sample.Sample
	for i := range n {
		all = append(all, samples[i%len(samples)])
	}
	return all
}

func TestFindings(t *testing.T) {
	one := ngxlua.Request{Address: 1, Method: "GET", URI: "/one"}
	two := ngxlua.Request{Address: 2, Method: "GET", URI: "/two"}
	idle := sample.Sample{Asleep: true, Stack: []profile.Frame{wait, main}}
	lua := func(r ngxlua.Request, frames ...profile.Frame) sample.Sample {
		return sample.Sample{Lua: true, Request: r, Stack: append(frames, main)}
	}
	blocked := lua(one, wait4, execute, handler)
	blocked.Asleep, blocked.State = true, luajit.InC
	collecting := lua(two, handler)
	collecting.State = luajit.Collect
	interpreting := lua(two, handler)
	interpreting.State = luajit.Interpreted
	turned := lua(one, handler)
	turned.Turn = 1
	halted := lua(one, handler)
	halted.Halted = true
	for name, c := range map[string]struct {
		samples []sample.Sample
		cpu     float64
		codes   string
		text    string
	}{
		"idle":          {times(50, idle), 0, "idle", "waits for events"},
		"stuck":         {times(50, lua(one, at(handler, 22)), lua(one, at(handler, 23))), 1, "stuck", "inside handler@app.lua:20"},
		"stuck, slowly": {times(50, lua(one, handler)), 0.1, "stuck", "(GET /one)"},
		"busy":          {times(50, lua(one, handler), lua(two, at(handler, 30))), 1, "busy", "100 % of a processor"},
		"same memory":   {times(50, lua(one, handler), turned), 1, "busy", "handler@app.lua:24 (100 %)"},
		"halted":        {times(50, halted), 0, "halted", "SIGSTOP"},
		"half busy":     {times(50, lua(one, handler), idle), 0.5, "busy", "handler@app.lua:24 (50 %)"},
		"in C":          {times(50, sample.Sample{Stack: []profile.Frame{deflate, main}}), 1, "busy_in_c", "deflate in libz.so.1 (100 %"},
		"blocked":       {times(50, blocked, idle, idle), 0, "blocked", "handler@app.lua:24 put the worker to sleep in os.execute (wait4)"},
		"once asleep":   {append(times(49, lua(one, handler)), blocked), 1, "stuck", "(GET /one)"},
		"collecting":    {times(60, collecting, lua(one, handler)), 1, "busy garbage", "50 % of Lua's time"},
		"interpreting":  {times(60, interpreting, interpreting, lua(one, handler)), 1, "busy interpreted", "67 % of Lua's time"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Explain(sample.Series{Samples: c.samples, CPU: c.cpu, Elapsed: time.Second})
			var codes, texts []string
			for _, f := range *e.Evidence[Name].(*Findings) {
				codes = append(codes, f.Code)
				texts = append(texts, f.Text)
				if f.Text == "" || f.Advice == "" {
					t.Errorf("%s lacks words: %+v", f.Code, f)
				}
			}
			if got := strings.Join(codes, " "); got != c.codes {
				t.Errorf("findings %q, want %q", got, c.codes)
			}
			if got := strings.Join(texts, "\n"); !strings.Contains(got, c.text) {
				t.Errorf("%q is not in\n%s", c.text, got)
			}
			if e.Samples != len(c.samples) || len(e.Typical()) == 0 {
				t.Errorf("%d samples, stack %v", e.Samples, e.Typical())
			}
		})
	}
}

// TestNoStack: samples whose stack came to nothing are counted, and nothing is made up for them.
func TestNoStack(t *testing.T) {
	e := Explain(sample.Series{Samples: times(50, sample.Sample{Lua: true, Asleep: true}), Elapsed: time.Second})
	parts := e.Evidence[shares.Name].(*shares.Result)
	if e.Samples != 50 || parts.Lua != 1 || len(e.Typical()) != 0 || len(parts.Lines) != 0 || len(*e.Evidence[Name].(*Findings)) != 1 {
		t.Errorf("%+v", e)
	}
}
