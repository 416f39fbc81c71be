package profile

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func sliced() *Profile {
	p := example()
	p.Mode, p.By, p.Failed, p.Lost = "on-cpu", "ebpf", 1, 2
	p.Stacks = nil
	counts := make([]int64, Slices)
	counts[0], counts[Slices-1] = 2, 3
	p.AddSliced([]Frame{cMain, chunk, fast}, map[string]string{"uri": "/one"}, counts)
	p.Merge()
	return p
}

// TestReadJSON: what was written is read again.
func TestReadJSON(t *testing.T) {
	for _, p := range []*Profile{example(), sliced(), {Head: Head{Title: "empty", Start: time.Unix(1, 0)}}} {
		var b bytes.Buffer
		if err := p.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		got, err := ReadJSON(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (- written, + read)\n%s", p.Title, diff)
		}
	}
}

func TestReadJSONRefuses(t *testing.T) {
	const head = `{"schema":"moonlap/1","kind":"profile","stacks":[`
	for text, want := range map[string]string{
		"":                                      "line 1",
		"{\n\n!":                                "line 3",
		"[]":                                    "cannot unmarshal array",
		`{"schema":"moonlap/2"}`:                `its schema is "moonlap/2"`,
		`{"schema":"moonlap/1","kind":"a"}`:     `kind "a"`,
		head + `{"count":-1}]}`:                 "stack 1: it was seen -1 times",
		head + `{},{"frames":[{"kind":"x"}]}]}`: `stack 2: "x" is no kind`,
		head + `{"count":1,"slices":[1]}]}`:     "1 slices, not 20",
		head + `{"count":1,"slices":[` + strings.Repeat("0,", Slices-1) + `0]}]}`: "not its count",
		head + strings.Repeat(`{"count":4503599627370496},`, 2) + `{}]}`:          "more than",
	} {
		p, err := ReadJSON([]byte(text))
		if !errors.Is(err, ErrNotProfile) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, p, err, want)
		}
	}
}

// FuzzReadJSON: whatever is read is a profile that every format can be made of, and that is read the
// same again.
func FuzzReadJSON(f *testing.F) {
	for _, p := range []*Profile{example(), sliced(), {}} {
		var b bytes.Buffer
		if err := p.WriteJSON(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadJSON(data)
		if err != nil {
			if !errors.Is(err, ErrNotProfile) {
				t.Fatal(err)
			}
			return
		}
		for _, format := range Formats {
			if err := p.Write(&bytes.Buffer{}, format, ""); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
		}
		var b bytes.Buffer
		if err := p.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		again, err := ReadJSON(b.Bytes())
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		var c bytes.Buffer
		if err := again.WriteJSON(&c); err != nil || !bytes.Equal(b.Bytes(), c.Bytes()) {
			t.Fatalf("%v\n%s\n%s", err, b.Bytes(), c.Bytes())
		}
	})
}
