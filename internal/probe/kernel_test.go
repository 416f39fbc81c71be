package probe

import (
	"errors"
	"strings"
	"testing"
)

func TestSymbols(t *testing.T) {
	s, err := readSymbols(strings.NewReader("ffffffff81000100 T second\nffffffff81000000 t first\n" +
		"ffffffff81000180 D data\nffffffffc0000000 t inside\t[module]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[uint64]string{
		0xffffffff80ffffff: "", 0xffffffff81000000: "first", 0xffffffff810000ff: "first",
		0xffffffff81000100: "second", 0xffffffff81000190: "second", 0xffffffffc0000001: "inside",
	} {
		if got := s.Name(address); got != want {
			t.Errorf("%#x is %q, want %q", address, got, want)
		}
	}
	if _, err := readSymbols(strings.NewReader("0000000000000000 T second\n")); !errors.Is(err, ErrHidden) {
		t.Errorf("hidden addresses: %v", err)
	}
	if _, err := readSymbols(strings.NewReader("")); err == nil || errors.Is(err, ErrHidden) {
		t.Errorf("no symbols: %v", err)
	}
}
