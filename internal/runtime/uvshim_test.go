package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestUVShim: the C library beside the binary is handed on, but not in place of the user's.
func TestUVShim(t *testing.T) {
	folder := t.TempDir()
	if got := uvShimIn(folder); got != nil {
		t.Errorf("an empty folder: %q", got)
	}
	file := filepath.Join(folder, "libmoonlap_uvshim.so")
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := uvShimIn(folder); got != nil {
		t.Errorf("a folder of that name: %q", got)
	}
	os.Remove(file)
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := uvShimIn(folder), []string{"MOONLAP_UVSHIM=" + file}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	t.Setenv("MOONLAP_UVSHIM", "none")
	if got := uvShim(); got != nil {
		t.Errorf("although one is named: %q", got)
	}
}
