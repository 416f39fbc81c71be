package process

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// child starts this test's program as a process that waits until the test ends.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MOONLAP_CHILD=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestMain is the child too: it says that it runs, and waits.
func TestMain(m *testing.M) {
	if os.Getenv("MOONLAP_CHILD") != "" {
		os.Stdout.Write([]byte("!"))
		os.Stdin.Read(make([]byte, 1))
		return
	}
	os.Exit(m.Run())
}

func TestStopped(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	pid := child(t).Process.Pid
	p, err := Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 20 {
		looked := false
		err := p.Stopped(func(r Registers) error {
			looked = true
			if m, ok := p.Mapped(r.RIP); !ok || !m.Executable {
				t.Errorf("it runs at %#x, which is no code", r.RIP)
			}
			if s, err := p.Stat(); err != nil || s.State != 't' {
				t.Errorf("while stopped its state is %q, %v", s.State, err)
			}
			if p.tracer() != os.Getpid() {
				t.Errorf("it is traced by %d, not by this process", p.tracer())
			}
			return nil
		})
		if errors.Is(err, os.ErrPermission) {
			t.Skip(err)
		}
		if err != nil || !looked {
			t.Fatalf("looked: %v, %v", looked, err)
		}
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		s, err := p.Stat()
		if err == nil && s.State != 't' && p.tracer() == 0 {
			break // it was let go
		}
		if time.Now().After(end) {
			t.Fatalf("it is still stopped: %+v, %v", s, err)
		}
	}
}

func TestStoppedTwiceAtOnce(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	p, err := Open(child(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var second error
	err = p.Stopped(func(Registers) error {
		second = p.Stopped(func(Registers) error { return nil })
		return nil
	})
	if errors.Is(err, os.ErrPermission) {
		t.Skip(err)
	}
	if err != nil || second == nil || !strings.Contains(second.Error(), "already traced, by process") {
		t.Errorf("first: %v, second: %v", err, second)
	}
}

func TestOpenNothing(t *testing.T) {
	for pid, want := range map[int]string{
		1 << 30: "there is no process",
		2:       "kernel thread", // kthreadd, where this isn't a container
	} {
		if b, err := os.ReadFile("/proc/2/comm"); pid == 2 && (err != nil || string(b) != "kthreadd\n") {
			continue
		}
		if _, err := Open(pid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("process %d: %v, want %q", pid, err, want)
		}
	}
}

// TestEndedMeanwhile: the process ends between being opened and being stopped.
func TestEndedMeanwhile(t *testing.T) {
	cmd := child(t)
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cmd.Process.Kill()
	cmd.Wait()
	if err := p.Stopped(func(Registers) error { return nil }); err == nil || !strings.Contains(err.Error(), "there is no process") {
		t.Errorf("stopped a dead process: %v", err)
	}
	if err := p.ReadAt(make([]byte, 8), p.Maps[0].Start); err == nil {
		t.Error("read memory of a dead process")
	}
}
