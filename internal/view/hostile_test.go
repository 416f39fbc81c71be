package view

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/heap"
	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/capture"
	"github.com/moonlap/moonlap/internal/view/explain"
	"github.com/moonlap/moonlap/internal/view/profiles"
	"github.com/moonlap/moonlap/internal/view/watch"
)

// evil is a name that moves the cursor, sets the terminal's title, and turns text around.
const evil = "a\x1b[2Jb\u009b31mc\x1b]0;title\x07d\u202ee\x7ff\rg\nh"

// spoil sets every text in v, and every map's keys, to evil; lists get two elements, numbers are 1.
func spoil(v reflect.Value, depth int) {
	if depth > 8 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Pointer:
		if !v.CanSet() { // an evidence.Result
			spoil(v.Elem(), depth+1)
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		spoil(v.Elem(), depth+1)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				spoil(f, depth+1)
			}
		}
	case reflect.Slice:
		if depth > 5 { // a tree's branches would be nil
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		spoil(v.Index(0), depth+1)
		spoil(v.Index(1), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			spoil(v.Index(i), depth+1)
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[evidence.Set]() {
			var all evidence.Set
			for _, kind := range evidence.Kinds() {
				var one evidence.Set
				if err := json.Unmarshal([]byte(`{"`+kind+`":null}`), &one); err != nil {
					panic(err)
				}
				all = all.Merge(one)
			}
			for _, result := range all {
				spoil(reflect.ValueOf(result), 0)
			}
			v.Set(reflect.ValueOf(all))
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		spoil(key, depth+1)
		spoil(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	}
}

func spoilt[T any]() T {
	var v T
	spoil(reflect.ValueOf(&v).Elem(), 0)
	return v
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestHostileNames: whatever a worker calls its functions, files, requests and dicts, no report has a terminal obey it.
func TestHostileNames(t *testing.T) {
	summary := spoilt[profile.Profile]()
	summary.PIDs = summary.PIDs[:1]
	snapshot := spoilt[heap.Snapshot]()
	for name, draw := range map[string]func(io.Writer, ui.Options) error{
		"explain": func(w io.Writer, o ui.Options) error { return explain.Draw(w, &summary, o) },
		"watch": func(w io.Writer, o ui.Options) error {
			s := spoilt[watch.Snapshot]()
			for i := range s.Workers {
				s.Workers[i].Error = "" // which is all of a worker's row
			}
			return watch.Draw(w, s, time.Time{}, o)
		},
		"watch errors": func(w io.Writer, o ui.Options) error { return watch.Draw(w, spoilt[watch.Snapshot](), time.Time{}, o) },
		"profile":      func(w io.Writer, o ui.Options) error { return profiles.Draw(w, &summary, evil, o) },
		"kept": func(w io.Writer, o ui.Options) error {
			p := spoilt[profile.Profile]()
			p.PIDs, p.Taken = nil, 0
			return profiles.Draw(w, &p, evil, o)
		},
		"capture": func(w io.Writer, o ui.Options) error {
			c := spoilt[capture.Capture]()
			return c.Summary(w, o)
		},
		"capture line": func(w io.Writer, o ui.Options) error {
			c := spoilt[capture.Capture]()
			line := strings.Split(c.Short(o), "\n")
			_, err := io.WriteString(w, strings.Join(line, "\n"))
			return err
		},
		"heap": func(w io.Writer, o ui.Options) error { return heap.Draw(w, &snapshot, o) },
		"heapdiff": func(w io.Writer, o ui.Options) error {
			before := snapshot
			before.Heaps = nil
			return heap.DrawDiff(w, &before, &snapshot, o)
		},
		"bench": func(w io.Writer, o ui.Options) error {
			r := spoilt[record.Results]()
			return report.Terminal(w, &r, o)
		},
		"markdown": func(w io.Writer, o ui.Options) error {
			r := spoilt[record.Results]()
			return report.Terminal(w, &r, ui.Options{Markdown: true})
		},
		"time": func(w io.Writer, o ui.Options) error {
			r := spoilt[record.CommandResults]()
			return report.Time(w, &r, o)
		},
		"history": func(w io.Writer, o ui.Options) error {
			h := spoilt[record.History]()
			return report.HistoryOf(w, &h, o)
		},
	} {
		for _, color := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var b bytes.Buffer
				if err := draw(&b, ui.Options{Width: 100, Color: color}); err != nil {
					t.Fatal(err)
				}
				got := b.String()
				if color {
					got = sgr.ReplaceAllString(got, "")
				}
				for line := range strings.SplitSeq(got, "\n") {
					if i := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
						t.Errorf("%q", line[max(0, i-20):min(len(line), i+40)])
					}
				}
				if !strings.Contains(got, "[2J") && !strings.Contains(got, "title") && !strings.Contains(got, "?") && !strings.Contains(got, "ab") {
					t.Errorf("no name is in it, so it shows nothing:\n%s", got)
				}
			})
		}
	}
}

// TestHostileJSON: nor has JSON.
func TestHostileJSON(t *testing.T) {
	p, snapshot, results := spoilt[profile.Profile](), spoilt[heap.Snapshot](), spoilt[record.Results]()
	for name, write := range map[string]func(io.Writer) error{
		"profile":    p.WriteJSON,
		"speedscope": func(w io.Writer) error { return p.Write(w, "speedscope", "") },
		"folded":     p.WriteFolded,
		"heap":       snapshot.Write,
		"results":    func(w io.Writer) error { return record.WriteJSON(w, &results) },
		"watch":      func(w io.Writer) error { return jsontext.NewEncoder(w).Encode(spoilt[watch.Snapshot]()) },
		"explain":    func(w io.Writer) error { return p.WriteDocument(w, "explain") },
		"line":       func(w io.Writer) error { return record.NewWriter(w).Write(spoilt[record.Fault]()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if i := strings.IndexFunc(line, unicode.IsControl); i >= 0 {
				t.Errorf("%s: %q", name, line[max(0, i-20):min(len(line), i+40)])
			}
		}
	}
}
