package files

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mode(t *testing.T, name string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func write(t *testing.T, name, data string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// writers write by both ways.
var writers = map[string]func(name string, mode os.FileMode) error{
	"Write": func(name string, mode os.FileMode) error { return Write(name, []byte("new"), mode) },
	"Create": func(name string, mode os.FileMode) error {
		f, err := Create(name, mode)
		if err != nil {
			return err
		}
		if _, err := f.Write([]byte("new")); err != nil {
			return err
		}
		return f.Close()
	},
}

func TestWrite(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	for by, put := range writers {
		t.Run(by, func(t *testing.T) {
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			write(t, in("victim"), "old", 0o600)
			write(t, in("private"), "old", 0o600)
			write(t, in("open"), "old", 0o664)
			for _, link := range [][2]string{{"victim", "link"}, {"nowhere", "dangling"}} {
				if err := os.Symlink(in(link[0]), in(link[1])); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range []struct {
				name       string
				asked, has os.FileMode
			}{
				{"fresh", Private, 0o600},
				{"shared", Shared, 0o644},
				{"private", Shared, 0o600}, // as it was
				{"open", Private, 0o664},
				{"link", Private, 0o600}, // it is a file now
				{"dangling", Private, 0o600},
			} {
				if err := put(in(c.name), c.asked); err != nil {
					t.Fatal(err)
				}
				if text(t, in(c.name)) != "new" || mode(t, in(c.name)) != c.has {
					t.Errorf("%s: %q, %v", c.name, text(t, in(c.name)), mode(t, in(c.name)))
				}
			}
			if text(t, in("victim")) != "old" {
				t.Error("a link was followed")
			}
			if _, err := os.Stat(in("nowhere")); err == nil {
				t.Error("a dangling link was followed")
			}
			for _, name := range []string{dir, dir + "/", in("fresh") + "/", in(".."), in("none/file"), ""} {
				if err := put(name, Private); err == nil {
					t.Errorf("%q: no error", name)
				}
			}
			if drafts, _ := filepath.Glob(in(".*")); len(drafts) > 0 {
				t.Errorf("left behind: %v", drafts)
			}
		})
	}
}

// What is no plain file stays what it is, and gets what is written.
func TestWriteStream(t *testing.T) {
	for by, put := range writers {
		t.Run(by, func(t *testing.T) {
			dir := t.TempDir()
			pipe, null := filepath.Join(dir, "pipe"), filepath.Join(dir, "null")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/dev/null", null); err != nil {
				t.Fatal(err)
			}
			reader := exec.Command("cat", pipe)
			var got strings.Builder
			reader.Stdout = &got
			if err := reader.Start(); err != nil {
				t.Fatal(err)
			}
			if err := put(pipe, Private); err != nil {
				t.Error(err)
			}
			if err := reader.Wait(); err != nil || got.String() != "new" {
				t.Errorf("through the pipe: %q, %v", got.String(), err)
			}
			for _, name := range []string{"/dev/null", null} {
				if err := put(name, Private); err != nil {
					t.Error(err)
				}
			}
			if m := mode(t, "/dev/null"); m&os.ModeCharDevice == 0 {
				t.Fatalf("/dev/null is %v", m)
			}
			if mode(t, null)&os.ModeSymlink == 0 || mode(t, pipe)&os.ModeNamedPipe == 0 {
				t.Error("a link to a device, or a pipe, was replaced")
			}
		})
	}
}

// TestWriteDescriptor: /dev/stdout is a link to a plain file where a shell redirects it, and is not to be replaced: what the
// shell's other commands write comes before and behind.
func TestWriteDescriptor(t *testing.T) {
	if name := os.Getenv("MOONLAP_TEST_WRITE"); name != "" {
		if err := Write(name, []byte("new\n"), Private); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	for _, name := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/../dev/stdout"} {
		before := mode(t, "/dev/stdout")
		out := filepath.Join(t.TempDir(), "out")
		cmd := exec.Command("sh", "-c", `{ echo before; "$0" -test.run='^TestWriteDescriptor$'; echo behind; } >"$1"`, os.Args[0], out)
		cmd.Env = append(os.Environ(), "MOONLAP_TEST_WRITE="+name)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, said)
		}
		if got := text(t, out); got != "before\nnew\nbehind\n" || mode(t, "/dev/stdout") != before {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What another user has put in the way gets nothing, and lets nothing be read.
func TestWriteForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal("root is needed to make another user's files")
		}
		t.Skip("root is needed to make another user's files")
	}
	const nobody = 65534
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("readable"), "", 0o666)
	if err := syscall.Mkfifo(in("pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"disk": "/dev/null", "link": in("victim")} {
		if err := os.Symlink(to, in(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"readable", "pipe", "disk", "link"} {
		if err := os.Lchown(in(name), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(in("pipe"), []byte("secret"), Private); err == nil || !strings.Contains(err.Error(), "of user 65534") {
		t.Errorf("the pipe: %v", err)
	}
	for _, name := range []string{"readable", "disk", "link"} {
		if err := Write(in(name), []byte("secret"), Private); err != nil {
			t.Fatal(err)
		}
		if mode(t, in(name)) != 0o600 || text(t, in(name)) != "secret" {
			t.Errorf("%s is %v", name, mode(t, in(name)))
		}
	}
	if _, err := os.Stat(in("victim")); err == nil {
		t.Error("a link was followed")
	}
}

// Nothing is left, and what was there stays, where the disk is full.
func TestWriteFull(t *testing.T) {
	if dir := os.Getenv("MOONLAP_TEST_FULL"); dir != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 10, Max: 10}); err != nil {
			t.Fatal(err)
		}
		if err := Write(filepath.Join(dir, "file"), make([]byte, 1000), Private); err == nil {
			t.Error("no error")
		}
		os.Exit(0)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "old", 0o600)
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriteFull$")
	cmd.Env = append(os.Environ(), "MOONLAP_TEST_FULL="+dir)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, said)
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 || text(t, filepath.Join(dir, "file")) != "old" {
		t.Errorf("%v", all)
	}
}
