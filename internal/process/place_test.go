package process

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

const (
	// placedLibrary has a function whose code differs from build to build.
	placedLibrary = "int placed(int x) { return x * FACTOR + 1; }\n"
	// placedProgram writes into the function's code where its argument is "patch"; then it waits.
	placedProgram = `
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
int placed(int);
int main(int n, char **a) {
	if (n > 1) {
		uintptr_t at = (uintptr_t)placed, page = at & ~4095ul;
		if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return 1;
		((char *)at)[PATCHED] ^= PATCH;
	}
	puts("ready");
	fflush(stdout);
	return getchar() + placed(0);
}`
)

// TestPlaceReplaced: the code is that of the file which is mapped, whatever has its path now; and code that somebody has
// changed is refused.
func TestPlaceReplaced(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	build := func(code, to string, flags ...string) {
		t.Helper()
		gcc, err := exec.LookPath("gcc")
		if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
			t.Skip("no gcc: run script/bootstrap test")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in("x.c"), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(gcc, append([]string{"-O1", "-o", to, in("x.c")}, flags...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	build(placedLibrary, in("old"), "-shared", "-fPIC", "-DFACTOR=3", "-Wl,-soname,libplaced.so")
	build(placedLibrary, in("new"), "-shared", "-fPIC", "-DFACTOR=1234567", "-Wl,-soname,libplaced.so")
	old, err := os.ReadFile(in("old"))
	if err != nil {
		t.Fatal(err)
	}
	library := in("libplaced.so")
	link := []string{in("old"), "-Wl,-rpath," + folder}
	build(placedProgram, in("program"), append([]string{"-DPATCHED=0", "-DPATCH=0"}, link...)...)
	build(placedProgram, in("patched"), append([]string{"-DPATCHED=1", "-DPATCH=1"}, link...)...)

	same := func(*Process) error { return nil }
	for _, c := range []struct {
		name, program string
		before, after func(*Process) error // the process is opened in between
		changed       bool
	}{
		{"untouched", "program", same, same, false},
		{"replaced", "program", func(*Process) error { return os.Rename(in("new"), library) }, same, false},
		{"deleted", "program", func(*Process) error { return os.Remove(library) }, same, false},
		{"replaced later", "program", same, func(*Process) error {
			return errors.Join(os.WriteFile(in("copy"), []byte("another file"), 0o600), os.Rename(in("copy"), library))
		}, false},
		{"written to later", "program", same, func(*Process) error { return os.WriteFile(library, old, 0o600) }, true},
		{"another breakpoint", "program", func(p *Process) error { return pokeAt(p, 0, 0xcc) }, same, false},
		{"patched by itself", "patched", same, same, true},
		{"patched by another", "program", func(p *Process) error { return pokeAt(p, 0, 0x90) }, same, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(in("fresh"), old, 0o600); err != nil { // a file of its own: writing to the last one is written to what runs
				t.Fatal(err)
			}
			if err := os.Rename(in("fresh"), library); err != nil {
				t.Fatal(err)
			}
			pid := started(t, in(c.program), map[bool][]string{true: {"patch"}}[c.program == "patched"]...)
			first, err := Open(pid)
			if err != nil {
				t.Fatal(err)
			}
			defer first.Close()
			if err := c.before(first); err != nil {
				t.Fatal(err)
			}
			p, err := Open(pid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			o, err := p.FindObject("placed")
			if err != nil {
				t.Fatal(err)
			}
			if err := c.after(p); err != nil {
				t.Fatal(err)
			}
			place, err := p.PlaceOf(o, "placed")
			if errors.Is(err, ErrChanged) != c.changed {
				t.Fatalf("%v", err)
			}
			_, at, _ := o.Code("placed")
			if again, err := p.Place(at); errors.Is(err, ErrChanged) != c.changed || !bytes.Equal(again.Code, place.Code) {
				t.Fatalf("by .eh_frame: % x, not % x: %v", again.Code, place.Code, err)
			}
			if c.changed {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(place.File)
			if err != nil || !bytes.Equal(file, old) {
				t.Errorf("%s is another file: %v", place.File, err)
			}
			if !bytes.HasPrefix(file[place.Offset:], place.Code) || len(place.Code) == 0 {
				t.Errorf("% x is not at %#x of it", place.Code, place.Offset)
			}
		})
	}
}

// started runs a program until it has written a line.
func started(t *testing.T, program string, args ...string) (pid int) {
	t.Helper()
	c := exec.Command(program, args...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); c.Process.Kill(); c.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%s: %q, %v", program, line, err)
	}
	return c.Process.Pid
}

// pokeAt writes a byte into the function, as a debugger does.
func pokeAt(p *Process, offset uint64, b byte) error {
	o, err := p.FindObject("placed")
	if err != nil {
		return err
	}
	_, at, err := o.Code("placed")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(p.file("mem"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte{b}, int64(at+offset))
	return err
}
