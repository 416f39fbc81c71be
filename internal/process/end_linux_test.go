package process

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEnd: how a process ended is known of one that has not been waited for by who asks, where the kernel tells; and
// never before.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		script string
		want   End
		text   string
	}{
		{"read x; exit 0", End{Known: true}, "exited with status 0"},
		{"read x; exit 3", End{Known: true, Status: 3}, "exited with status 3"},
		{"read x; kill -SEGV $$", End{Known: true, Signal: "SIGSEGV"}, "was ended by SIGSEGV"},
	} {
		cmd := exec.Command("sh", "-c", c.script)
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := OpenFate(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if end := f.End(); end != (End{}) {
			t.Errorf("it runs: %+v", end)
		}
		in.Close()
		cmd.Wait() //nolint:errcheck // it is to fail
		got := f.End()
		f.Close()
		if !got.Known && !tellsExits(t) {
			t.Skip("this kernel does not tell how a process ended: that takes Linux 6.15")
		}
		if got != c.want || got.String() != c.text || got.Well() != (c.text == "exited with status 0") {
			t.Errorf("%q: %+v, %s", c.script, got, got)
		}
	}
	if end := (End{}); end.Well() {
		t.Error("what is not known is no good end")
	}
}

func tellsExits(t *testing.T) bool {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	for i, n := 0, 0; i < len(u.Release) && n < 2; i++ {
		switch c := u.Release[i]; {
		case c < '0' || c > '9':
			n++
		case n == 0:
			major = 10*major + int(c-'0')
		default:
			minor = 10*minor + int(c-'0')
		}
	}
	return major > 6 || major == 6 && minor >= 15
}
