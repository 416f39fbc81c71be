package harm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
)

// TestConfined: workers under a strict seccomp filter live through each command, which works or refuses. Before Linux 6.14 a return
// probe may kill them.
func TestConfined(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip("no gcc: run script/bootstrap test")
	}
	confined := filepath.Join(t.TempDir(), "confined")
	out, err := exec.Command(gcc, "-O1", "-o", confined, "../../script/kernels/confined.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := newBed(t, confined)
	for _, pid := range b.workers() {
		if filtered, err := process.Filtered(pid); err != nil || !filtered {
			t.Fatalf("worker %d is under no filter: %v", pid, err)
		}
	}
	for _, c := range commands {
		l := b.look(c.line)
		err := l.finish()
		if err == nil {
			err = b.settled(l)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			if !repaired(b) {
				t.Fatal("the workers cannot be brought back")
			}
		}
		if status := l.ProcessState.ExitCode(); status != 0 && !strings.Contains(l.output.String(), probe.ErrReturns.Error()) {
			t.Errorf("%s ends with %d: %s", c.name, status, l.output.String())
		}
	}
}
