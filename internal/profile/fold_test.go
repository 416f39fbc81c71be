package profile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDrawnOf: recursion and functions without names take one row, and nothing else is lost.
func TestDrawnOf(t *testing.T) {
	c := func(names ...string) (all []Frame) {
		for _, name := range names {
			file, _, _ := strings.Cut(name, "+0x")
			all = append(all, Frame{Function: name, File: file, Kind: C})
		}
		return all
	}
	for want, frames := range map[string][]Frame{
		"main a (recursive) z":              c(append(append([]string{"main"}, strings.Split(strings.Repeat("a ", 30), " ")[:30]...), "z")...),
		"a (recursive) b (recursive)":       c("a", "b", "a", "b", "a", "b"),
		"a (recursive) b (recursive) a":     c("a", "b", "a", "b", "a"),
		"a b a":                             c("a", "b", "a"),
		"nginx+0x… main nginx+0x… pcre+0x…": c("nginx+0x1", "main", "nginx+0x2", "nginx+0xff", "nginx+0x2", "pcre+0x1", "pcre+0x2"),
		"a+0xyz": c("a+0xyz"),
	} {
		var names []string
		for _, d := range drawnOf(frames) {
			names = append(names, d.Name)
		}
		if d := cmp.Diff(want, strings.Join(names, " ")); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	memory := Frame{Function: ".next", Kind: Tables}
	if got := drawnOf([]Frame{memory, memory}); len(got) != 2 {
		t.Errorf("a list's tables are folded: %v", got)
	}
}

// TestFoldedFiles: what other programs read keeps every frame.
func TestFoldedFiles(t *testing.T) {
	p := &Profile{}
	p.Add([]Frame{cMain, slow, slow, slow, {Function: "nginx+0x1f", File: "nginx", Kind: C}}, nil, 1)
	for format, want := range map[string]string{
		"folded": "main;slow@app.lua:12;slow@app.lua:12;slow@app.lua:12;nginx+0x1f 1\n", "html": `"slow@app.lua:12 (recursive)"`, "svg": "slow@app.lua:12 (recursive) · ",
	} {
		var b bytes.Buffer
		if err := p.Write(&b, format, ""); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v, want %q in\n%s", format, err, want, b.String())
		}
	}
}
