package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const token = "the moon is known"

// child starts this test's program as a process that waits until the test ends.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MOONLAP_CHILD="+token)
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

// kept is memory of the child that is known by what it holds.
var kept []byte

const tokens = 1 << 16

// TestMain is the child too: it says that it runs, and waits.
func TestMain(m *testing.M) {
	if os.Getenv("MOONLAP_CHILD") == "grow" {
		grow()
		return
	}
	if token := os.Getenv("MOONLAP_CHILD"); token != "" {
		kept = bytes.Repeat([]byte(token), tokens)
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
		_, err := p.Stopped(time.Minute, func(r Registers) error {
			looked = true
			if m, ok := p.Mapped(r.RIP); !ok || !m.Executable {
				t.Errorf("it runs at %#x, which is no code", r.RIP)
			}
			if s, err := p.Stat(); err != nil || s.State != 't' {
				t.Errorf("while stopped its state is %q, %v", s.State, err)
			}
			if Parent(p.tracer()) != os.Getpid() {
				t.Errorf("it is traced by %d, not by a child of this process", p.tracer())
			}
			return nil
		})
		if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
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
	_, err = p.Stopped(time.Minute, func(Registers) error {
		_, second = p.Stopped(time.Minute, func(Registers) error { return nil })
		return nil
	})
	if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
	if err != nil || second == nil || !strings.Contains(second.Error(), "already traced, by process") {
		t.Errorf("first: %v, second: %v", err, second)
	}
}

// TestSignalWhileStopped: a signal that comes while the process stands still reaches it afterwards,
// and one that stopped it before leaves it stopped.
func TestSignalWhileStopped(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	cmd := child(t)
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Stopped(time.Minute, func(Registers) error { return cmd.Process.Signal(syscall.SIGSTOP) }); err != nil {
		if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	await := func(want byte) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			s, err := p.Stat()
			if err == nil && s.State == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("its state is %q, not %q, %v", s.State, want, err)
			}
		}
	}
	await('T')
	if _, err := p.Stopped(time.Minute, func(Registers) error { return nil }); err != nil {
		t.Error(err)
	}
	await('T')
	cmd.Process.Signal(syscall.SIGCONT)
	await('S')
	if _, err := p.Stopped(time.Minute, func(Registers) error { return cmd.Process.Kill() }); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("killed while it stood still: %v", err)
	}
}

func TestOpenThread(t *testing.T) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip(err)
	}
	for _, thread := range threads {
		tid, _ := strconv.Atoi(thread.Name())
		if _, err := Open(tid); tid != os.Getpid() && (err == nil || !strings.Contains(err.Error(), "a thread of process")) {
			t.Errorf("thread %d: %v", tid, err)
		}
	}
}

// TestVDSO: the kernel's own code in a process can be named and left, as when it asks for the time.
func TestVDSO(t *testing.T) {
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, m := range p.Maps {
		if m.Path != vdso {
			continue
		}
		o, err := p.ObjectAt(m.Start)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"clock_gettime", "__vdso_clock_gettime", "__kernel_clock_gettime"} {
			if at, _, ok := o.Symbol(name); ok {
				if _, known := o.frameAt(at); m.Start <= at && at < m.End && known {
					return
				}
			}
		}
		t.Errorf("%s has no function that tells the time", vdso)
	}
}

// TestKept: what is read while a process stands still is right across the ends of pages, and next to
// memory that is not there.
func TestKept(t *testing.T) {
	memory := make([]byte, 3*pageSize)
	for i := range memory {
		memory[i] = byte(i * 7 / 5)
	}
	var k pages
	for range 2 {
		k.begin()
		for _, at := range []int{0, 1, pageSize - 3, pageSize, 2*pageSize - 8} {
			b := make([]byte, 64)
			if !k.read(bytes.NewReader(memory), b, uint64(at)) || !bytes.Equal(b, memory[at:at+64]) {
				t.Errorf("at %d: %x", at, b)
			}
		}
		if k.read(bytes.NewReader(memory), make([]byte, 8), 3*pageSize-4) {
			t.Error("read past the end")
		}
		if k.end(); len(k.held) != 0 {
			t.Error("pages of one look are held for the next")
		}
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
	if _, err := p.Stopped(time.Minute, func(Registers) error { return nil }); err == nil || !strings.Contains(err.Error(), "process "+strconv.Itoa(p.PID)+" has ended") {
		t.Errorf("stopped a dead process: %v", err)
	}
	if err := p.ReadAt(make([]byte, 8), p.Maps[0].Start); err == nil {
		t.Error("read memory of a dead process")
	}
}
