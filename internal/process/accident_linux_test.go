package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/memory"
)

// TestSparseMapping: a terabyte that was reserved and of which little is used is listed in a few steps, whether the kernel
// scans page maps or not; pages that were only read do not hide others.
func TestSparseMapping(t *testing.T) {
	const size = 1 << 40
	b, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		t.Skipf("a terabyte cannot be reserved: %v", err)
	}
	defer unix.MunmapPtr(b, size)
	at := func(n uintptr) *byte { return (*byte)(unsafe.Add(b, n)) }
	const far = 1 << 22 // far enough apart for no bridge, and in another table of pages
	_ = *at(0)          // a page of zeros
	if *at(far) != 0 {
		t.Fatal("new memory is not zero")
	}
	*at(2 * far), *at(3 * far) = 1, 2
	start := uint64(uintptr(b))
	want := []uint64{start + 2*far, start + 3*far}
	for _, noScan := range []bool{false, true} {
		p, err := Open(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		p.noScan = noScan
		steps := 0
		u, err := p.used(func() bool { steps++; return true })
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range want {
			if !slices.ContainsFunc(u.spans, func(s span) bool { return s.from <= address && address < s.to }) {
				t.Errorf("not scanned %v: the page at %#x is missing", noScan, address)
			}
		}
		const entries = size / pageSize / (1 << 13) // steps that all entries of the page map would take
		if most := entries/10 + len(p.Maps); steps > most {
			t.Errorf("not scanned %v: %d steps, at most %d", noScan, steps, most)
		}
		// When time is up, the list ends.
		left := 3
		if _, err := p.used(func() bool { left--; return left > 0 }); err != nil || left < -len(p.Maps) {
			t.Errorf("not scanned %v: %v, and %d steps too many", noScan, err, -left)
		}
	}
}

// TestScanAgrees: what the kernel scans is what the entries of the page map say.
func TestScanAgrees(t *testing.T) {
	p, err := Open(child(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	time.Sleep(10 * time.Millisecond) // until it waits
	size := func(noScan bool) int64 {
		p.noScan = noScan
		u, err := p.used(always)
		if err != nil {
			t.Fatal(err)
		}
		return u.size
	}
	// Its runtime may use some pages meanwhile.
	const some = 1 << 20
	if a, b := size(false), size(true); a-b > some || b-a > some || a < tokens*int64(len(token)) {
		t.Errorf("%d bytes scanned, %d read", a, b)
	}
}

// TestEndsMeanwhile: a process that ends at any step of a copy is an error that says so, or a copy of before.
func TestEndsMeanwhile(t *testing.T) {
	const steps = 6
	for end := range steps {
		cmd := child(t)
		p, err := Open(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		step := 0
		more := func() bool {
			if step == end {
				cmd.Process.Kill()
				cmd.Wait()
			}
			step++
			return true
		}
		u, err := p.used(more)
		if err == nil {
			var s *Snapshot
			if s, err = p.read(u.spans, make([]byte, u.size), nil, more); err == nil && s.Size() == 0 && u.size > 0 {
				t.Errorf("ended at step %d: nothing was copied, and no error", end)
			}
		}
		if err != nil && !strings.Contains(err.Error(), "has ended") && !strings.Contains(err.Error(), "no process") {
			t.Errorf("ended at step %d: %v", end, err)
		}
		more()
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := p.Snapshot(SnapshotOptions{Pause: time.Minute, Space: &memory.Space{Checked: true}}); err == nil {
			t.Errorf("a process that has ended at step %d was copied", end)
		}
	}
}

// TestGrows: a process that grows while it is copied is copied whole, or not, with the reason; it goes on in both cases.
func TestGrows(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	// Each block is twice as large as the one before it.
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MOONLAP_CHILD=grow")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	said := make([]byte, 1)
	out.Read(said)
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for n := 0; bytes.Equal(said, []byte("!")); n++ {
		space := &memory.Space{Checked: true, PID: p.PID}
		s, err := p.Snapshot(SnapshotOptions{Pause: time.Minute, Space: space})
		var long *PauseError
		switch {
		case errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "":
			t.Skip(err)
		case err != nil && !errors.As(err, &long) && !strings.Contains(err.Error(), "grew by more"):
			t.Errorf("number %d: %v", n, err)
		case err == nil && s.Size() == 0:
			t.Errorf("number %d: nothing was copied", n)
		}
		space.Close()
		in.Write(said) // it grows on
		if _, err := out.Read(said); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := p.Stat(); err != nil || s.State == 't' {
		t.Errorf("%+v, %v", s, err)
	}
}
