package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
)

func TestEncoder(t *testing.T) {
	var b bytes.Buffer
	if err := NewEncoder(&b).Encode([]string{"a\u009b2J\x7f<é>\u00a0\x1b\u0080", "ÿ\u009f"}); err != nil {
		t.Fatal(err)
	}
	if want := `["a\u009b2J\u007f<é>` + "\u00a0" + `\u001b\u0080","ÿ\u009f"]` + "\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if err := NewEncoder(full{}).Encode(1); err == nil {
		t.Error("no error")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// FuzzEncoder: what is written has no control characters, and is read as what it was.
func FuzzEncoder(f *testing.F) {
	f.Add("\u0080\u009f\x7f\xc2")
	f.Add("é\xc2\x9b\xff\x9b")
	f.Fuzz(func(t *testing.T, s string) {
		var b bytes.Buffer
		if err := NewEncoder(&b).Encode(map[string]string{s: s}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(strings.TrimSuffix(b.String(), "\n"), unicode.IsControl) {
			t.Fatalf("%q", b.String())
		}
		var back map[string]string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if s = strings.ToValidUTF8(s, "\ufffd"); len(back) != 1 {
			t.Fatalf("%q became %q", s, back)
		}
	})
}
