package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoWorkers: where none is found, and some may be hidden, a note says so.
func TestNoWorkers(t *testing.T) {
	for _, c := range []struct {
		first, namespace string
		note             string
	}{
		{"1", "pid:[4026531836]", ""},
		{"1", "pid:[4026532551]", "outside of this container"},
		{"", "pid:[4026531836]", "hidepid"},
		{"1", "", ""}, // a kernel without namespaces
	} {
		proc := t.TempDir()
		err := os.MkdirAll(filepath.Join(proc, "self/ns"), 0o700)
		if c.first != "" {
			err = errors.Join(err, os.Mkdir(filepath.Join(proc, c.first), 0o700))
		}
		if c.namespace != "" {
			err = errors.Join(err, os.Symlink(c.namespace, filepath.Join(proc, "self/ns/pid")))
		}
		if err != nil {
			t.Fatal(err)
		}
		got := noWorkers(proc)
		if (got.Status == "note") != (c.note != "") || !strings.Contains(got.Text, c.note) || (got.Remedy != "") != (c.note != "") {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
