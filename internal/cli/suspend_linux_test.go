package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const beSuspended = "MOONLAP_TEST_BE_SUSPENDED"

// TestSuspended: Ctrl-Z suspends, each time. The handler of Go's stayed, and took the signal that was to stop.
func TestSuspended(t *testing.T) {
	if os.Getenv(beSuspended) != "" {
		suspendable()
		fmt.Println("ready")
		time.Sleep(time.Minute)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestSuspended$")
	cmd.Env = append(os.Environ(), beSuspended+"=1")
	// In a group of its own, of which this program is the parent in the same session: else the kernel stops nobody.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	stopped := func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(state, "T")
	}
	for _, s := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGTSTP} {
		for _, want := range []bool{true, false} {
			if !want {
				s = syscall.SIGCONT
			}
			cmd.Process.Signal(s)
			for end := time.Now().Add(20 * time.Second); stopped() != want; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("after %v: suspended %v, want %v", s, !want, want)
				}
			}
		}
	}
}
