package locks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/moonlap/moonlap/internal/probe/probetest"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// TestReplaced: an upgrade has put another nginx in the place of the one that runs. Locks are timed all the same, at the
// instructions of the file that is mapped.
func TestReplaced(t *testing.T) {
	probetest.Need(t)
	found, err := exec.LookPath("nginx")
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip("no nginx: run script/bootstrap test")
	}
	program, failed := os.ReadFile(found)
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	folder := t.TempDir()
	own := filepath.Join(folder, "nginx")
	if err := os.WriteFile(own, program, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	pid, client := nginxtest.Start(t, holding)
	if at, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || at != own {
		t.Fatalf("%s runs, %v", at, err)
	}
	res, err := client.Get("http://worker/hold") // and takes locks from now on
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, program[:len(program)/2], 0o755); err != nil {
		t.Fatal(err)
	}
	o := observed(t, pid, 1)
	eventually(t, o, func(r *Result) bool { return r.Taken > 0 })
}
