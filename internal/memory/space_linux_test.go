package memory

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestSpace: arrays hold what was written, wherever they lie and however they grow.
func TestSpace(t *testing.T) {
	folder := t.TempDir()
	for name, s := range map[string]*Space{"Go's": nil, "memory": {}, "checked": {Checked: true}, "a file": {Folder: folder}} {
		rapid.Check(t, func(t *rapid.T) {
			err := Run(func() error {
				n := rapid.IntRange(0, 5000).Draw(t, "length")
				fixed := Filled[uint64](s, n, 7)
				var grows []int32
				for i := range rapid.IntRange(0, 50_000).Draw(t, "pushed") {
					grows = Push(s, grows, int32(i))
				}
				for i, v := range fixed {
					if v != 7 {
						t.Fatalf("%s: place %d has %d", name, i, v)
					}
				}
				for i, v := range grows {
					if v != int32(i) {
						t.Fatalf("%s: place %d has %d", name, i, v)
					}
				}
				if seen, err := os.ReadDir(folder); err != nil || len(seen) > 0 {
					t.Fatalf("%s: %v can be seen, %v", name, seen, err)
				}
				Release(s, fixed)
				Release(s, grows)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		if s != nil && len(s.held) > 0 {
			t.Errorf("%s: %d arrays are left", name, len(s.held))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWhere: with a folder, a long array lies in a file. One that is used in no order does not, where memory can be spared.
func TestWhere(t *testing.T) {
	s := &Space{Folder: t.TempDir(), Checked: true}
	defer s.Close()
	inFile := func(array []uint8) bool { return s.held[unsafe.Pointer(&array[0])].file != nil }
	if err := Run(func() error {
		if !inFile(Long[uint8](s, 5000)) {
			t.Error("a long array lies in memory")
		}
		if inFile(Make[uint8](s, 5000)) {
			t.Error("one that is used in no order lies in a file, and there is memory")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestFill: what is read lands at its place, of a file and of memory, also when it is less than was asked for.
func TestFill(t *testing.T) {
	for name, s := range map[string]*Space{"Go's": nil, "memory": {}, "a file": {Folder: t.TempDir()}, "a slow file": {Folder: t.TempDir(), tight: true}} {
		err := Run(func() error {
			all := Make[uint8](s, 40<<20)
			const piece = 4 << 20
			for at := 0; at < len(all); at += piece {
				n, err := s.Fill(all, at, at+piece, func(into []byte) (int, error) {
					for i := range into {
						into[i] = byte(at/piece + 1)
					}
					return len(into) - at/piece, nil
				})
				if n != piece-at/piece || err != nil {
					t.Errorf("%s: %d bytes, %v", name, n, err)
				}
			}
			for at := 0; at < len(all); at += piece {
				last := at + piece - at/piece - 1
				if want := byte(at/piece + 1); all[at] != want || all[last] != want {
					t.Errorf("%s: at %d and %d stand %d and %d, not %d", name, at, last, all[at], all[last], want)
				}
			}
			Release(s, all)
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTooMuch: what is more than there is fails with an error, and takes nothing.
func TestTooMuch(t *testing.T) {
	const much = 1 << 50
	for name, s := range map[string]*Space{"memory": {Checked: true}, "a file": {Folder: t.TempDir(), Checked: true}} {
		err := Run(func() error { Make[uint8](s, much); return nil })
		var short *ShortError
		var full *FullError
		if !errors.As(err, &short) && !errors.As(err, &full) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Check(much); err == nil {
			t.Errorf("%s: it can be taken", name)
		}
	}
	s := &Space{Folder: "/proc/self/no such folder"}
	if err := Run(func() error { Make[uint8](s, 1); return nil }); err == nil || !strings.Contains(err.Error(), "no such") {
		t.Errorf("a folder that is not there: %v", err)
	}
	s = &Space{Folder: "/proc/self/status"}
	if err := s.Check(1); err == nil {
		t.Error("a file is no folder")
	}
}

// smallDisk mounts a disk of a size, which is memory.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, options); err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skipf("a file system cannot be mounted: %v; run as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// TestFullDisk: where the disk has no room the error says how much there is, also when it fills up in between.
func TestFullDisk(t *testing.T) {
	folder := smallDisk(t, "size=4m")
	s := &Space{Folder: folder}
	var full *FullError
	if err := Run(func() error { Make[uint8](s, 5<<20); return nil }); !errors.As(err, &full) || full.Free != 4<<20 {
		t.Errorf("%v", err)
	}
	err := Run(func() error {
		var all []uint64
		for {
			all = Push(s, all, 1)
		}
	})
	if !errors.As(err, &full) || !strings.Contains(err.Error(), folder) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	// What was taken is free again.
	if err := Run(func() error { Release(s, Make[uint8](s, 3<<20)); return nil }); err != nil {
		t.Error(err)
	}
	// A file system in memory counts as memory.
	if isMemory, err := checkFolder(folder, 1); err != nil || !isMemory {
		t.Errorf("%v, %v", isMemory, err)
	}
}

// TestCutFile: a file that is cut while it is mapped is an error, not the end of the program.
func TestCutFile(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 20
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	s := &Space{}
	defer s.Close()
	err = Run(func() error {
		b := s.Map(f, []Piece{{4096, 4096}, {0, 10}})
		if len(b) != 4106 || b[4100] != 0 {
			t.Errorf("%d bytes", len(b))
		}
		if err := f.Truncate(0); err != nil {
			return err
		}
		t.Log(b[5])
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "the file was cut") {
		t.Errorf("%v", err)
	}
}

// TestEndFirst: the kernel has it in writing.
func TestEndFirst(t *testing.T) {
	const file = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	defer os.WriteFile(file, before, 0)
	EndFirst()
	if now, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(now)) != "1000" {
		t.Errorf("%q, %v", now, err)
	}
}
