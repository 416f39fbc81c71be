package process

import (
	"os"
	"strings"
	"testing"
)

// FuzzParseStat: a program may have any name, also one that looks like the rest of the line.
func FuzzParseStat(f *testing.F) {
	f.Add("1 (a) b) S 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22")
	f.Add("1 (a")
	f.Fuzz(func(t *testing.T, line string) { parseStat(line) })
}

// FuzzOpenInside: no name leads out of the root, or to what is no plain file.
func FuzzOpenInside(f *testing.F) {
	for _, name := range []string{"/a", "../../a", "/proc/self/root/etc/passwd", "//dev/null", "a/../a\x00", "link", "link/../..", ""} {
		f.Add(name)
	}
	root := f.TempDir()
	if err := os.Symlink("/", root+"/link"); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(root+"/a", []byte("inside"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		opened, err := openInside(root, name)
		if err != nil {
			return
		}
		defer opened.Close()
		b := make([]byte, 10)
		n, _ := opened.Read(b)
		if !strings.Contains(name, "a") || string(b[:n]) != "inside" {
			t.Fatalf("%q leads to %q", name, b[:n])
		}
	})
}
