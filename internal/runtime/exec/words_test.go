package exec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestGuess(t *testing.T) {
	for _, c := range []struct{ command, twin string }{
		{"luajit app.lua x", "luajit -e ''"},
		{"/opt/lj/bin/luajit-2.1.0-beta3 -joff app.lua", "/opt/lj/bin/luajit-2.1.0-beta3 -joff -e ''"},
		{"luajit -e 'print(1)' -O3", "luajit -O3 -e ''"},
		{"luajit -lsocket app.lua", "luajit -e ''"},
		{"luajit -l socket app.lua -joff", "luajit -e ''"},
		{"lua5.4 -E app.lua", "lua5.4 -E -e ''"},
		{"resty -e 'ngx.say(1)'", "resty -e ''"},
		{"resty -I lib --shdict 'cats 1m' --http-conf 'x y;' a.lua --errlog-level x", "resty -I lib --shdict 'cats 1m' --http-conf 'x y;' -e ''"},
		{"resty --shdict='cats 1m' -j off a.lua", "resty '--shdict=cats 1m' -j off -e ''"},
		{"nginx -t -c x.conf", "nginx -v"},
		{"sh -c 'sleep 1'", "sh -c ''"},
		{"bash script.sh", "bash -c ''"},
		{"python3 -S -X utf8 -W ignore a.py -S", "python3 -S -X utf8 -W ignore -c ''"},
		{"python3.11 -m json.tool x", "python3.11 -c ''"},
		{"perl -T -e 'print 1'", "perl -T -e ''"},
		{"node app.js", "node -e ''"},
		{"moonlap run --jit off a.lua b", "moonlap run --jit off -e ''"},
		{"moonlap run -e 'print(1)'", "moonlap run -e ''"},
		{"env A=1 B=2 luajit a.lua", "env A=1 B=2 luajit -e ''"},
		{"env -i luajit a.lua", ""},
		{"env A=1", ""},
		{"moonlap bench a.lua", ""},
		{"luajitter a.lua", ""},
		{"sort big.txt", ""},
	} {
		args, err := Split(c.command, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if twin := Guess(args); twin != nil {
			got = Join(twin)
		}
		if got != c.twin {
			t.Errorf("Guess(%s) = %s, want %s", c.command, got, c.twin)
		}
	}
	if got := Guess(nil); got != nil {
		t.Errorf("Guess(nil) = %q", got)
	}
}

// Guess never reads beyond the words, whatever they are, and a twin keeps the program.
func TestGuessAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		program := rapid.SampledFrom([]string{"luajit", "resty", "sh", "python3", "moonlap", "env"}).Draw(t, "program")
		words := rapid.SliceOf(rapid.SampledFrom([]string{"-", "--", "-e", "-j", "-X", "--shdict", "run", "A=1", "", "luajit", "a.lua"})).Draw(t, "words")
		twin := Guess(append([]string{program}, words...))
		if twin != nil && twin[0] != program {
			t.Fatalf("the twin of %q is %q", program, twin)
		}
	})
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		`a 'b c' "d e" f\ g`: {"a", "b c", "d e", "f g"},
		`a ''`:               {"a", ""},
		`sh -c "a | b; c"`:   {"sh", "-c", "a | b; c"},
		`a \| b`:             {"a", "|", "b"},
	} {
		got, err := Split(line, nil)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Split(%s): %v\n%s", line, err, diff)
		}
	}
	for _, bad := range []string{"", "  ", "'a", "a | b", "a|b", "a > b", `a "b"; c`, "a &"} {
		if got, err := Split(bad, nil); err == nil {
			t.Errorf("Split(%q) = %q, want an error", bad, got)
		}
	}
	if got, _ := Split("a | b", []string{"bash"}); strings.Join(got, "~") != "bash~-c~a | b" {
		t.Errorf("with a shell: %q", got)
	}
}
