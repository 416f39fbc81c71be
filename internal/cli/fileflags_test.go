package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// benchFile writes a bench file and returns its path.
func benchFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.lua")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadFileFlags(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  []string
		line  int
	}{
		{"none", []string{"local x = 1"}, nil, 0},
		{"empty file", nil, nil, 0},
		{"after a shebang, a comment and an empty line",
			[]string{"#!/usr/bin/luajit", "-- About.", "", "-- moonlap: --gc full"},
			[]string{"--gc", "full"}, 4},
		{"over two lines", []string{"-- moonlap: --gc full", "-- moonlap: --laps"},
			[]string{"--gc", "full", "--laps"}, 2},
		{"quoted, indented, CRLF", []string{"  -- moonlap: --http-conf 'a b;' --main-conf \"c d;\"\r"},
			[]string{"--http-conf", "a b;", "--main-conf", "c d;"}, 1},
		{"not after code", []string{"local x", "-- moonlap: --gc full"}, nil, 0},
		{"not in the middle of a comment", []string{"-- see -- moonlap: --gc full"}, nil, 0},
		{"no code may be too long a line", []string{"-- moonlap: --gc full", strings.Repeat("x", 1<<20)},
			[]string{"--gc", "full"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			words, line, err := readFileFlags(benchFile(t, test.lines...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, words); diff != "" || line != test.line {
				t.Errorf("line %d, want %d; words (-want +got):\n%s", line, test.line, diff)
			}
		})
	}
}

func TestApplyFileFlags(t *testing.T) {
	path := benchFile(t, "-- moonlap: --phase content --gc full", "-- moonlap: --time 1s --workers 4")
	flags := newBenchCommand(Sys{}).Flags()
	if err := flags.Set("gc", "stopped"); err != nil { // as the command line does
		t.Fatal(err)
	}
	if err := applyFileFlags(path, flags); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"phase", "gc", "time", "workers", "rate"} {
		got[name] = flags.Lookup(name).Value.String()
	}
	want := map[string]string{"phase": "content", "gc": "stopped", "time": "1s", "workers": "[4]", "rate": "0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefusedFileFlags(t *testing.T) {
	for line, want := range map[string]string{
		"-- moonlap: --out x":         "unknown flag: --out; a bench file may set --runtime, --phase",
		"-- moonlap: --format json":   "unknown flag: --format; ",
		"-- moonlap: --seed 1":        "unknown flag: --seed; ",
		"-- moonlap: --luajit /x":     "unknown flag: --luajit; ",
		"-- moonlap: -e 1":            "unknown shorthand flag: 'e'",
		"-- moonlap: nginx":           `"nginx" is not a flag; `,
		"-- moonlap: --time":          "flag needs an argument: --time",
		"-- moonlap: --time soon":     "invalid",
		"-- moonlap: --http-conf 'a;": "Unterminated",
	} {
		t.Run(line, func(t *testing.T) {
			path := benchFile(t, "-- first", line)
			err := applyFileFlags(path, newBenchCommand(Sys{}).Flags())
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), path+":2: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("got %q, want %q at %s:2", err, want, path)
			}
		})
	}
}
