package profile

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"pgregory.net/rapid"
)

var (
	cMain  = Frame{Function: "main", File: "nginx", Kind: C}
	chunk  = Frame{File: "=content_by_lua(nginx.conf:3)", Function: "main chunk", Line: 1, Kind: Lua}
	slow   = Frame{Function: "slow", File: "/srv/app.lua", FirstLine: 10, Line: 12, Kind: Lua}
	fast   = Frame{Function: "fast", File: "/srv/app.lua", FirstLine: 20, Line: 21, Kind: Lua, Compiled: true}
	anon   = Frame{File: "/srv/app.lua", FirstLine: 30, Kind: Lua}
	write  = Frame{Function: "ksys_write", Kind: Kernel}
	format = Frame{Function: "string.format", Kind: Builtin}
)

func example() *Profile {
	p := &Profile{Head: Head{Title: "worker <1> & more", Start: time.Unix(1e9, 0), Duration: time.Second, Period: 10 * time.Millisecond}}
	one, two := map[string]string{"uri": "/one"}, map[string]string{"uri": "/two"}
	for range 3 {
		p.Add([]Frame{cMain, chunk, slow, format}, one, 1)
	}
	p.Add([]Frame{cMain, chunk, fast}, one, 1)
	p.Add([]Frame{cMain, chunk, fast}, two, 1)
	p.Add([]Frame{cMain, chunk, anon, write}, nil, 1)
	p.Merge()
	return p
}

func TestFolded(t *testing.T) {
	var b strings.Builder
	if err := example().WriteFolded(&b); err != nil {
		t.Fatal(err)
	}
	want := `main;main chunk@=content_by_lua(nginx.conf:3):1;fast@app.lua:21_[j] 2
main;main chunk@=content_by_lua(nginx.conf:3):1;function@app.lua:30;ksys_write_[k] 1
main;main chunk@=content_by_lua(nginx.conf:3):1;slow@app.lua:12;string.format 3
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}

func TestPprof(t *testing.T) {
	var b bytes.Buffer
	if err := example().WritePprof(&b); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	var count, ns int64
	for _, s := range p.Sample {
		count, ns = count+s.Value[0], ns+s.Value[1]
	}
	if count != 6 || ns != 60e6 {
		t.Errorf("%d samples, %d ns; want 6, 60e6", count, ns)
	}
	top := p.Sample[0]
	if f := top.Location[1].Line[0]; f.Function.Filename != "/srv/app.lua" || f.Line != 12 || f.Function.StartLine != 10 {
		t.Errorf("the line is %+v of %+v", f, f.Function)
	}
	if diff := cmp.Diff(map[string][]string{"uri": {"/one"}}, top.Label); diff != "" {
		t.Error(diff)
	}
}

func TestSpeedscope(t *testing.T) {
	var b bytes.Buffer
	if err := example().WriteSpeedscope(&b); err != nil {
		t.Fatal(err)
	}
	var file struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Type, Unit string
			EndValue   int64
			Samples    [][]int
			Weights    []int64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	p := file.Profiles[0]
	if p.Type != "sampled" || p.Unit != "nanoseconds" || p.EndValue != 60e6 || len(p.Samples) != len(p.Weights) {
		t.Errorf("%+v", p)
	}
	if name := file.Shared.Frames[p.Samples[0][3]].Name; name != "string.format" {
		t.Errorf("the innermost frame is %s", name)
	}
}

// TestSVG: the picture is XML, and the widths of each level's frames are their shares.
func TestSVG(t *testing.T) {
	var b bytes.Buffer
	if err := example().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	type rect struct{ x, y, width float64 }
	var all []rect
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "rect" {
			continue
		}
		r := map[string]float64{}
		for _, a := range start.Attr {
			r[a.Name.Local], _ = strconv.ParseFloat(a.Value, 64)
		}
		if r["height"] == rowHeight-1 {
			all = append(all, rect{r["x"], r["y"], r["width"]})
		}
	}
	if len(all) != 8 { // all, main, chunk; slow, fast, anon; format, write
		t.Fatalf("%d frames", len(all))
	}
	full := all[0].width
	level := map[float64]float64{}
	for _, r := range all {
		level[r.y] += (r.width + 0.5) / (full + 0.5)
	}
	for y, share := range level {
		want := 1.0
		if y == all[0].y+4*rowHeight {
			want = 4.0 / 6 // format and write
		}
		if diff := share - want; diff > 0.01 || diff < -0.01 {
			t.Errorf("the frames at %g take %g of the width, want %g", y, share, want)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for file, want := range map[string]string{
		"a.html": "html", "b/c.SVG": "svg", "p.pb.gz": "pprof", "p.pprof": "pprof", "x.folded": "folded",
		"x.speedscope.json": "speedscope", "x.json": "json", "x": "", "x.txt": "",
	} {
		if got := FormatOf(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// TestAnyNames: whatever functions and files are called, each format is whole and counts everything.
func TestAnyNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Profile{Head: Head{Title: rapid.String().Draw(t, "title"), Period: time.Millisecond}}
		frame := rapid.Custom(func(t *rapid.T) Frame {
			return Frame{
				Function: rapid.String().Draw(t, "function"), File: rapid.String().Draw(t, "file"),
				Line: rapid.IntRange(0, 99).Draw(t, "line"), Kind: rapid.SampledFrom([]Kind{Lua, C, Builtin, Kernel}).Draw(t, "kind"),
				Compiled: rapid.Bool().Draw(t, "compiled"),
			}
		})
		stacks := rapid.SliceOfN(rapid.SliceOfN(frame, 1, 6), 1, 20).Draw(t, "stacks")
		for _, s := range stacks {
			p.Add(s, map[string]string{"uri": rapid.String().Draw(t, "uri")}, 1)
		}
		p.Merge()
		if p.Total() != int64(len(stacks)) || p.Tree().Count != int64(len(stacks)) {
			t.Fatalf("%d samples became %d, and %d in the tree", len(stacks), p.Total(), p.Tree().Count)
		}
		var svg, page, folded, packed bytes.Buffer
		if err := errors.Join(p.WriteSVG(&svg), p.WriteHTML(&page, ""), p.WriteFolded(&folded), p.WritePprof(&packed)); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(&svg); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("SVG: %v", err)
			}
		}
		if _, err := pprof.ParseData(packed.Bytes()); err != nil {
			t.Fatalf("pprof: %v", err)
		}
		total := 0
		for line := range strings.Lines(folded.String()) {
			n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
			if err != nil {
				t.Fatalf("folded line %q: %v", line, err)
			}
			total += n
		}
		if total != len(stacks) {
			t.Fatalf("%d samples, %d in the folded stacks", len(stacks), total)
		}
		_, rest, _ := strings.Cut(page.String(), `id="data">`)
		data, _, _ := strings.Cut(rest, "</script>")
		if !json.Valid([]byte(data)) {
			t.Fatalf("the page's data is not whole: %q", data)
		}
	})
}
