package runtime

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

func command(t *testing.T, name string, args ...string) Command {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: path, Args: append([]string{name}, args...), Timeout: time.Minute}
}

// A small program's peak is below ours, so only a watched run can tell it; that of a large
// one is told either way, and so is how it ended.
func TestRunPeak(t *testing.T) {
	ballast := make([]byte, 32<<20)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	small := command(t, "true")
	for _, watch := range []bool{false, true} {
		small.Watch = watch
		ran, err := Run(t.Context(), small)
		if err != nil || ran.Status != 0 {
			t.Fatalf("watch %t: %+v, %v", watch, ran, err)
		}
		if known := ran.MaxRSS > 0; known != watch || ran.MaxRSS > 16<<20 {
			t.Errorf("watch %t: peak %d", watch, ran.MaxRSS)
		}
		large := command(t, "dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")
		large.Watch = watch
		if ran, err := Run(t.Context(), large); err != nil || ran.MaxRSS < 200<<20 || ran.MaxRSS > 300<<20 {
			t.Errorf("watch %t: %+v, %v", watch, ran, err)
		}
		dies := command(t, "sh", "-c", "trap 'exit 9' USR1; kill -USR1 $$; exit 1")
		dies.Watch = watch
		if ran, err := Run(t.Context(), dies); err != nil || ran.Status != 9 {
			t.Errorf("watch %t, a signal that is caught: %+v, %v", watch, ran, err)
		}
		dies = command(t, "sh", "-c", "kill -SEGV $$")
		dies.Watch = watch
		if ran, err := Run(t.Context(), dies); err != nil || ran.Signal != "SIGSEGV" {
			t.Errorf("watch %t, a signal that kills: %+v, %v", watch, ran, err)
		}
		hangs := command(t, "sh", "-c", "trap : TERM; while :; do sleep 9; done")
		hangs.Watch, hangs.Timeout = watch, 200*time.Millisecond
		if ran, err := Run(t.Context(), hangs); err != nil || !ran.TimedOut || ran.Signal != "SIGKILL" {
			t.Errorf("watch %t, one that hangs: %+v, %v", watch, ran, err)
		}
	}
	if ballast[4096] != 1 {
		t.Error("the ballast must live until here")
	}
	// Children's peaks can't be told apart from their father's.
	father := command(t, "sh", "-c", "true; /bin/true; exit 0")
	father.Watch = true
	if ran, err := Run(t.Context(), father); err != nil || ran.MaxRSS != 0 {
		t.Errorf("with a child: %+v, %v", ran, err)
	}
}

// What is printed is counted; the clock is stopped by the end of the command itself.
func TestRunOutput(t *testing.T) {
	c := command(t, "sh", "-c", "head -c 300000 /dev/zero; echo oops >&2; sleep 60 & exit 3")
	began := time.Now()
	ran, err := Run(t.Context(), c)
	if err != nil || ran.Status != 3 || ran.Stdout.Bytes != 300000 || ran.Stderr.Head != "oops\n" {
		t.Errorf("%+v, %v", ran, err)
	}
	if ran.WallNS <= ran.SpawnNS || ran.WallNS > float64(time.Since(began)) || ran.SpawnNS <= 0 {
		t.Errorf("wall %g, spawning %g", ran.WallNS, ran.SpawnNS)
	}
	if _, err := Run(t.Context(), Command{Path: "/nonexistent", Args: []string{"x"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	ran, err := Run(ctx, command(t, "sh", "-c", "trap : TERM; while :; do sleep 9; done"))
	if err != context.Canceled || ran.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", ran, err)
	}
}
