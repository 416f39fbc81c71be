package profiles

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestShort: the report of a profile begins with what takes the time, and how the samples were taken comes last. What stands on the first
// screen of 24 lines answers which lines, in which state, and the first reason why they were not compiled.
func TestShort(t *testing.T) {
	const kept, golden, screen = "testdata/short/profile.json", "testdata/short/profile.80.txt", 24
	data, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ReadJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Draw(&b, p, "", ui.Options{}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if diff := cmp.Diff(string(want), b.String()); err != nil || diff != "" {
		t.Errorf("%v; go test ./internal/view/profiles -update writes it (-want +got):\n%s", err, diff)
	}
	first := strings.Join(strings.Split(b.String(), "\n")[:screen], "\n")
	for _, want := range []string{"62 %  prices@orders.lua:4", "states   47 % interpreted", "interpreted: 47 %", "NYI: bytecode"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first screen has no %q:\n%s", want, first)
		}
	}
}
