package process

import (
	"os/exec"
	"testing"
)

// TestCountEvents: what a process does after the counting began is counted, and what cannot be
// counted says why.
func TestCountEvents(t *testing.T) {
	child := exec.Command("sh", "-c", "read go; for i in 1 2 3 4 5; do (exit 0); done")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	counts := CountEvents(child.Process.Pid)
	defer counts.Close()
	in.Write([]byte("go\n"))
	in.Close()
	one := make([]byte, 1)
	out.Read(one) // its end
	got := counts.Read()
	child.Wait()
	for _, e := range append(SoftwareEvents, HardwareEvents...) {
		n, counted := got[e]
		why := counts.Missing[e]
		if counted == (why != nil) {
			t.Errorf("%s: %d, %v", e, n, why)
		}
		if e == MinorFaults && counted && n == 0 {
			t.Errorf("a shell that forked five times had no page fault")
		}
	}
}

func TestCountEventsOfNone(t *testing.T) {
	counts := CountEvents(1 << 30)
	defer counts.Close()
	if len(counts.Read()) != 0 || len(counts.Missing) == 0 {
		t.Errorf("counts of no process: %v, missing %v", counts.Read(), counts.Missing)
	}
}
