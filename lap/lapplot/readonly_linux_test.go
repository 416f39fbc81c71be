package lapplot

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadOnly: in a folder that may not be written nothing changes, and the error names the file.
func TestReadOnly(t *testing.T) {
	// Root need not heed the permissions of files; this thread, which ends with the test, does.
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&header, &caps[0]); err != nil {
		t.Fatal(err)
	}
	caps[0].Effective &^= 1 << unix.CAP_DAC_OVERRIDE
	if err := unix.Capset(&header, &caps[0]); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "plot.svg")
	if err := os.WriteFile(file, []byte("before"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(folder, 0o755) })
	for _, name := range []string{file, filepath.Join(folder, "new.html")} {
		err := full().WriteFile(name)
		if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "before" {
		t.Errorf("the file that was there is %q, %v", b, err)
	}
}
