package profile

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// spread is N samples, evenly over all slices.
func spread(n int64) []int64 {
	all := make([]int64, Slices)
	for i := range all {
		all[i] = n / Slices
		if int64(i) < n%Slices {
			all[i]++
		}
	}
	return all
}

// changed is a program whose function slow was sped up, and moved by a line: 60 % of 1000 samples
// were in it before, 20 % of 500 after.
func changed() *Diff {
	moved := slow
	moved.FirstLine, moved.Line = 11, 13
	before := &Profile{Head: Head{Title: "before", Period: 10 * time.Millisecond}}
	before.AddSliced([]Frame{cMain, chunk, slow, format}, map[string]string{"uri": "/one"}, spread(600))
	before.AddSliced([]Frame{cMain, chunk, fast}, map[string]string{"uri": "/two"}, spread(399))
	before.AddSliced([]Frame{cMain, write}, nil, spread(1))
	after := &Profile{Head: Head{Title: "after", Period: 10 * time.Millisecond}}
	after.AddSliced([]Frame{cMain, chunk, moved, format}, map[string]string{"uri": "/one"}, spread(100))
	after.AddSliced([]Frame{cMain, chunk, fast}, map[string]string{"uri": "/two"}, spread(398))
	after.AddSliced([]Frame{cMain, write}, nil, spread(2))
	before.Merge()
	after.Merge()
	return &Diff{Title: "before <and> after", Before: before, After: after}
}

func TestDiffFolded(t *testing.T) {
	d := changed()
	var b strings.Builder
	if err := d.WriteFolded(&b); err != nil {
		t.Fatal(err)
	}
	want := `main;ksys_write_[k] 0 2
main;main chunk@=content_by_lua(nginx.conf:3);fast@app.lua 200 398
main;main chunk@=content_by_lua(nginx.conf:3);slow@app.lua;string.format 300 100
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	d.Lines = true
	b.Reset()
	if err := d.WriteFolded(&b); err != nil {
		t.Fatal(err)
	}
	if want := "slow@app.lua:13;string.format 0 100\n"; !strings.Contains(b.String(), want) {
		t.Errorf("%q is not in\n%s", want, b.String())
	}
}

func TestDiffRows(t *testing.T) {
	d := changed()
	describe := func(rows []Row) (all []string) {
		for _, r := range rows {
			mark := " "
			if !r.Change.Distinct {
				mark = " ? "
			}
			all = append(all, strconv.FormatInt(r.Before, 10)+" "+strconv.FormatInt(r.After, 10)+mark+r.Name)
		}
		return all
	}
	for _, c := range []struct {
		what string
		rows []Row
		want []string
	}{
		{"functions", d.Functions(), []string{ // main is in every stack
			"600 100 slow@app.lua", "600 100 string.format", "399 398 fast@app.lua",
			"999 498 ? main chunk@=content_by_lua(nginx.conf:3)", "1 2 ? ksys_write_[k]",
		}},
		{"lines", d.LuaLines(), []string{"600 0 slow@app.lua:12", "399 398 fast@app.lua:21", "0 100 slow@app.lua:13"}},
		{"stacks", d.Stacks(), []string{
			"600 100 main;main chunk@=content_by_lua(nginx.conf:3);slow@app.lua;string.format",
			"399 398 main;main chunk@=content_by_lua(nginx.conf:3);fast@app.lua",
			"1 2 ? main;ksys_write_[k]",
		}},
	} {
		if diff := cmp.Diff(c.want, describe(c.rows)); diff != "" {
			t.Errorf("%s (- want, + got)\n%s", c.what, diff)
		}
	}
	for _, r := range d.Functions() {
		if r.Name == "slow@app.lua" && (r.Place != "/srv/app.lua" || r.Change.Before != 0.6 || r.Change.After != 0.2) {
			t.Errorf("%+v", r)
		}
	}
}

// TestDiffSame: a profile beside itself has no distinct row, whatever it holds, and all formats are
// whole.
func TestDiffSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Profile{Head: Head{Title: rapid.String().Draw(t, "title"), Period: time.Millisecond}}
		frame := rapid.Custom(func(t *rapid.T) Frame {
			return Frame{Function: rapid.String().Draw(t, "function"), File: rapid.String().Draw(t, "file"),
				Line: rapid.IntRange(0, 3).Draw(t, "line"), Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		})
		known := rapid.Bool().Draw(t, "slices known")
		for _, s := range rapid.SliceOfN(rapid.SliceOfN(frame, 1, 5), 0, 10).Draw(t, "stacks") {
			if n := rapid.Int64Range(1, 100).Draw(t, "count"); known {
				p.AddSliced(s, nil, spread(n))
			} else {
				p.Add(s, nil, n)
			}
		}
		p.Merge()
		d := &Diff{Title: p.Title, Before: p, After: p, Lines: rapid.Bool().Draw(t, "lines")}
		for _, rows := range [][]Row{d.Functions(), d.LuaLines(), d.Stacks()} {
			for _, r := range rows {
				if r.Change.Distinct || r.Change.Change.Estimate != 0 || r.Before != r.After {
					t.Fatalf("%+v", r)
				}
			}
		}
		var svg, folded, data, page bytes.Buffer
		if err := errors.Join(d.WriteSVG(&svg), d.WriteFolded(&folded), d.WriteJSON(&data), d.WriteHTML(&page, "")); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(svg.String(), "fill=\""+more) && strings.Count(svg.String(), "fill=\""+more) > 1 {
			t.Fatalf("a frame is coloured: %s", svg.String())
		}
		for x := xml.NewDecoder(&svg); ; {
			if _, err := x.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("SVG: %v", err)
			}
		}
		if !json.Valid(data.Bytes()) {
			t.Fatalf("%s", data.Bytes())
		}
		var total int64
		for line := range strings.Lines(folded.String()) {
			counts := strings.Fields(line[strings.LastIndex(strings.TrimRight(line, "0123456789\n"), " "):])
			n, err := strconv.ParseInt(counts[len(counts)-1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
		if total != p.Total() {
			t.Fatalf("%d samples, %d in the folded stacks", p.Total(), total)
		}
	})
}

// TestDiffColoursAsTheTables: a frame is coloured where its row is reported as different, and only there. Here
// every function stands in one place, so that graph and table test the same shares.
func TestDiffColoursAsTheTables(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	made := func(scale float64) *Profile {
		p := &Profile{Head: Head{Period: time.Millisecond}}
		for i := range 30 {
			frame := Frame{Function: fmt.Sprintf("f%02d", i), File: "/srv/app.lua", Kind: Lua}
			p.AddSliced([]Frame{frame}, nil, spread(40+int64(scale*float64(r.IntN(60)))))
		}
		return p
	}
	d := &Diff{Before: made(1), After: made(1.5)}
	var b strings.Builder
	if err := d.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	distinct := 0
	for _, row := range d.Functions() {
		_, rest, ok := strings.Cut(b.String(), `<g class="frame"><title>`+row.Name+" · ")
		element, _, _ := strings.Cut(rest, "</g>")
		if coloured := !strings.Contains(element, same); !ok || coloured != row.Change.Distinct {
			t.Errorf("%s is coloured: %v; its row: %+v", row.Name, coloured, row.Change)
		}
		if row.Change.Distinct {
			distinct++
		}
	}
	if rows := len(d.Functions()); distinct == 0 || distinct == rows {
		t.Errorf("%d of %d rows are distinct: does this test anything?", distinct, rows)
	}
}

// TestDiffSVG: what fell is blue, what grew is red, and the widths are those of after.
func TestDiffSVG(t *testing.T) {
	var b strings.Builder
	if err := changed().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"slow@app.lua · ": less, "fast@app.lua · ": more, "main · ": same, "ksys_write_[k] · ": same,
	} {
		_, rest, ok := strings.Cut(b.String(), `<g class="frame"><title>`+name)
		element, _, _ := strings.Cut(rest, "</g>")
		if strength := mix(same, want, 1); !ok || want != same && strings.Contains(element, same) || !strings.Contains(element, strength) {
			t.Errorf("%s: %q, want the colour %s", name, element, strength)
		}
	}
	if want := "before 60.0 %, after 20.0 %"; !strings.Contains(b.String(), want) {
		t.Errorf("%q is not there", want)
	}
}
