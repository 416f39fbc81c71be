//go:build linux && amd64

package process

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// awaitGoing waits until a process is in another state than traced.
func awaitGoing(t *testing.T, p *Process) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		s, err := p.Stat()
		if err == nil && s.State != 't' {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it still stands: %+v, %v", s, err)
		}
	}
}

// stoppable opens a child, or skips the test where it may not be stopped.
func stoppable(t *testing.T) *Process {
	t.Helper()
	p, err := Open(child(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	_, err = p.Stopped(time.Minute, func(Registers) error { return nil })
	if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHoldEnds: a process goes on when its time is over, although look is still at it. What was read of it until then stays;
// other memory is no more read.
func TestHoldEnds(t *testing.T) {
	p := stoppable(t)
	_, err := p.Stopped(50*time.Millisecond, func(r Registers) error {
		b := make([]byte, 8)
		early := p.ReadAt(b, r.RSP)
		awaitGoing(t, p)
		if early != nil {
			t.Skipf("this machine was busy for 50 ms: %v", early)
		}
		if err := p.ReadAt(b, r.RSP+8); err != nil {
			t.Errorf("memory that was read is gone: %v", err)
		}
		for _, m := range p.Maps {
			if m.Writable && (r.RSP < m.Start || m.End <= r.RSP) {
				if err := p.ReadAt(b, m.Start); !errors.Is(err, ErrLeftOut) {
					t.Errorf("memory of a process that goes on was read as if it stood: %v", err)
				}
				if err := p.ReadAt(make([]byte, 2*pageSize), m.Start); m.End-m.Start > 2*pageSize && !errors.Is(err, ErrLeftOut) {
					t.Errorf("likewise, much of it: %v", err)
				}
				return nil
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHolderAccidents: whatever happens to the holder, the process goes on, and the next stop is sound.
func TestHolderAccidents(t *testing.T) {
	p := stoppable(t)
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		_, err := p.Stopped(10*time.Millisecond, func(Registers) error {
			if holder := p.tracer(); holder != 0 {
				syscall.Kill(holder, signal)
			}
			awaitGoing(t, p)
			return nil
		})
		if p.tracer() != 0 {
			t.Errorf("%s: it is still traced", name)
		}
		t.Logf("%s: %v", name, err)
		if _, err := p.Stopped(time.Minute, func(r Registers) error { return p.ReadAt(make([]byte, 8), r.RSP) }); err != nil {
			t.Errorf("%s: the next stop: %v", name, err)
		}
	}
}

// TestHolderStops: a holder that is stopped between two stops, where no timer runs, holds up nothing for good.
func TestHolderStops(t *testing.T) {
	p := stoppable(t)
	p.holding.cmd.Process.Signal(syscall.SIGSTOP)
	if _, err := p.Stopped(10*time.Millisecond, func(Registers) error { return nil }); err == nil {
		t.Error("a holder that stands still has answered")
	}
	if _, err := p.Stopped(time.Minute, func(Registers) error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestHoldBeside: where the kernel lets nobody but a parent trace, a thread of this program holds.
func TestHoldBeside(t *testing.T) {
	p := stoppable(t)
	if !descends(p.PID) || descends(1) {
		t.Error("whose child is it?")
	}
	p.letGo()
	h, err := holdBeside(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	p.holding = h
	for range 3 {
		if _, err := p.Stopped(time.Minute, func(Registers) error {
			if p.tracer() != os.Getpid() {
				t.Errorf("it is traced by %d", p.tracer())
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Stopped(10*time.Millisecond, func(Registers) error { awaitGoing(t, p); return nil }); err != nil {
		t.Error(err)
	}
}
