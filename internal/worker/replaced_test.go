package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestProbesReplaced: an upgrade has put another nginx in the place of the one that runs. Locks are timed all the same, at the
// instructions of the file that is mapped.
func TestProbesReplaced(t *testing.T) {
	s := sampler(t)
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
	pid, client := nginxWith(t, "lua_shared_dict cats 1m; lua_shared_dict dogs 1m;", holds)
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
	w := open(t, pid)
	p, err := w.ProbeLocks(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for end := time.Now().Add(30 * time.Second); ; {
		l, err := p.Run(t.Context(), 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if l.Taken > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no lock in 30 s")
		}
	}
}
