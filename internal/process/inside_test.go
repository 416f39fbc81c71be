package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOpenInside: names of files that a process made up lead nowhere else than to plain files of its own root.
func TestOpenInside(t *testing.T) {
	root := t.TempDir()
	in := func(path string) string { return filepath.Join(root, path) }
	outside := filepath.Join(t.TempDir(), "secret")
	err := errors.Join(
		os.Mkdir(in("lua"), 0o755), os.Mkdir(in("etc"), 0o755),
		os.WriteFile(in("lua/app.lua"), []byte("inside"), 0o600),
		os.WriteFile(in("etc/secret"), []byte("the root's own"), 0o600),
		os.WriteFile(outside, []byte("outside"), 0o600),
		os.Symlink("/lua/app.lua", in("absolute.lua")),
		os.Symlink("../../../../../lua/app.lua", in("lua/up.lua")),
		os.Symlink(outside, in("escape.lua")),
		os.Symlink("/lua", in("folder")),
		os.Symlink("loop", in("loop")),
		syscall.Mkfifo(in("pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/lua/app.lua", "lua/app.lua", "/absolute.lua", "/lua/up.lua", "/folder/app.lua", "/../../lua/app.lua"} {
		f, err := openInside(root, path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if b, err := io.ReadAll(f); err != nil || string(b) != "inside" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
		f.Close()
	}
	for _, path := range []string{"/escape.lua", outside, "/lua", "/", "", "/loop", "/none", "/pipe", "a\x00b", strings.Repeat("/x", 5000)} {
		ended := time.AfterFunc(time.Minute, func() { panic("it waits at " + path) })
		if f, err := openInside(root, path); err == nil {
			t.Errorf("%.50q: it is opened", path)
			f.Close()
		}
		ended.Stop()
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/proc/self/fd/0", "/proc/self/exe", "/proc/self/environ", "/proc/kmsg", "/dev/stdin", "/sys/kernel/uevent_seqnum"} {
		if f, err := openInside("/", path); err == nil {
			t.Errorf("%s: it is opened", path)
			f.Close()
		}
	}

	// The same by way of a process: ourselves.
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, path := range []string{"inside_test.go", outside} {
		f, err := p.OpenInside(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if _, err := p.OpenInside("../process"); !errors.Is(err, ErrNoFile) {
		t.Errorf("a folder: %v", err)
	}
}
