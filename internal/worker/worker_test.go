package worker_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// TestAbout: what a worker consists of is read out of it, and agrees with what nginx says of itself.
func TestAbout(t *testing.T) {
	pid, client := workertest.App(t, nginxtest.Conf{})
	w := workertest.Open(t, pid)
	for range 100 { // until something is compiled
		if res, err := client.Get("http://worker/compiled"); err == nil {
			res.Body.Close()
		}
		if w.VM.TraceCount() > 0 {
			break
		}
	}
	a, err := w.About()
	if err != nil {
		t.Fatal(err)
	}
	found, err := runtime.Find(t.Context(), runtime.Nginx, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		t.Fatal(err)
	}
	if a.PID != pid || a.Master != process.Parent(pid) || a.Nginx != found.Version || a.Traces == 0 || len(a.Verified) < 3 ||
		!strings.HasPrefix(a.LuaJIT, "LuaJIT 2.") || strings.Count(a.Module, ".") != 2 {
		t.Errorf("%+v; nginx says that it is %q", a, found.Version)
	}
}

func TestOpenRefuses(t *testing.T) {
	_, err := worker.Open(os.Getpid())
	if err == nil || !strings.Contains(err.Error(), "not an nginx worker") {
		t.Errorf("this test is taken for a worker: %v", err)
	}
	// Who names a luajit learns which command takes it. The kernel calls a process as the file that was run, a link to sleep here.
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(t.TempDir(), "luajit-2.1")
	if err := os.Symlink(sleep, named); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(named, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if _, err := worker.Open(cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), "'moonlap profile -- luajit-2.1 FILE'") {
		t.Errorf("of a luajit it says: %v", err)
	}
}

// TestOpenProgramRefuses what has no LuaJIT in it.
func TestOpenProgramRefuses(t *testing.T) {
	_, err := worker.OpenProgram(os.Getpid())
	if err == nil || errors.Is(err, luajit.ErrLayout) || !strings.Contains(err.Error(), "not LuaJIT") {
		t.Errorf("this test is taken for a program with LuaJIT: %v", err)
	}
}
