package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestDealMakesSides(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string // of each side: name: file flag=value …
		err  string
	}{
		{args: "a.lua x/b.lua", want: []string{"a.lua: a.lua", "b.lua: x/b.lua"}},
		{args: "x/a.lua y/a.lua", want: []string{"x/a.lua: x/a.lua", "y/a.lua: y/a.lua"}},
		{args: "x/a.lua x/a.lua", want: []string{"a.lua#1: x/a.lua", "a.lua#2: x/a.lua"}},
		{args: "a.lua a.lua", want: []string{"a.lua#1: a.lua", "a.lua#2: a.lua"}},
		{args: "a.lua --rev main --rev . --phase log", want: []string{
			"main: a.lua phase=log rev=main", ".: a.lua phase=log rev=."}},
		{args: "a.lua --jit= --jit off", want: []string{"jit on: a.lua jit=", "jit off: a.lua jit=off"}},
		{args: "-e 1 -e 2 --setup x", want: []string{"1: eval=1 setup=x", "2: eval=2 setup=x"}},
		{args: "a.lua --luajit /a/luajit --luajit /b/luajit --runtime luajit", want: []string{
			"/a/luajit: a.lua luajit=/a/luajit runtime=luajit", "/b/luajit: a.lua luajit=/b/luajit runtime=luajit"}},
		{args: "a.lua b.lua --http-conf x --http-conf y", want: []string{
			"a.lua x: a.lua http-conf=x", "b.lua y: b.lua http-conf=y"}},
		{args: "a.lua b.lua c.lua --jit= --jit off", err: "the number of files makes 3 sides, and --jit 2"},
		{args: "a.lua", err: "with what?"},
		{args: "", err: "compare what?"},
		{args: "a.lua -e 1", err: "not both"},
	} {
		var o compareOptions
		cmd := &cobra.Command{}
		o.addFlags(cmd)
		if err := cmd.ParseFlags(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		settings, err := o.sides.deal(cmd.Flags(), cmd.Flags().Args())
		if tt.err != "" {
			if code, _ := exitCode(err); err == nil || !strings.Contains(err.Error(), tt.err) || code != ExitUsage {
				t.Errorf("%s: error %v, want a usage error with %q", tt.args, err, tt.err)
			}
			continue
		}
		var got []string
		for _, s := range settings {
			text := s.name + ":"
			if s.file != "" {
				text += " " + s.file
			}
			for _, name := range []string{"eval", "http-conf", "jit", "luajit", "phase", "rev", "runtime", "setup"} {
				if value, ok := s.values[name]; ok {
					text += " " + name + "=" + value
				}
			}
			got = append(got, text)
		}
		if d := cmp.Diff(tt.want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.args, err, d)
		}
	}
}

func TestPercentFlag(t *testing.T) {
	for text, want := range map[string]percentFlag{"3%": 0.03, "0.5 %": 0.005, "0%": 0, "150%": 1.5} {
		var p percentFlag
		if err := p.Set(text); err != nil || p-want > 1e-12 || want-p > 1e-12 {
			t.Errorf("%q is %v, %v", text, float64(p), err)
		}
		var again percentFlag
		if err := again.Set(p.String()); err != nil || again != p {
			t.Errorf("%q comes back as %v, %v", p.String(), float64(again), err)
		}
	}
	for _, text := range []string{"", "3", "%", "-1%", "NaN%", "1e9%", "x%"} {
		if err := errors.Join(new(percentFlag).Set(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
