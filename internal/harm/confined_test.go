package harm

import (
	"fmt"
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
	t.Parallel()
	gcc, err := exec.LookPath("gcc")
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip("no gcc: run script/bootstrap test")
	}
	confined := filepath.Join(t.TempDir(), "confined")
	out, err := exec.Command(gcc, "-O1", "-o", confined, "../../script/kernels/confined.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := newBed(t, t, confined)
	for _, pid := range b.workers() {
		if filtered, err := process.Filtered(pid); err != nil || !filtered {
			t.Fatalf("worker %d is under no filter: %v", pid, err)
		}
	}
	b.each(func(c command, l *look) {
		if status := l.ProcessState.ExitCode(); status != 0 && !strings.Contains(l.output.String(), probe.ErrReturns.Error()) {
			t.Errorf("%s ends with %d: %s", c.name, status, l.output.String())
		}
	})
	b.refuseReturns(t)
}

// TestContained: workers in a container of their own, with its processes, users, mounts and host name, live through each command,
// which looks into them from outside.
func TestContained(t *testing.T) {
	t.Parallel()
	// Its first process ends with nginx, and all others with it.
	b := newBed(t, t, "sh", "-c", `unshare --user --map-root-user --pid --fork --mount --uts --ipc --mount-proc --kill-child \
		sh -c '"$@" && while test -e "$3/pid"; do sleep 0.2; done' sh "$@" >"$3/container.log" 2>&1 &`, "sh")
	for _, pid := range b.workers() {
		inside, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
		if own, e := os.Readlink("/proc/self/ns/user"); err != nil || e != nil || inside == own {
			t.Fatalf("worker %d is in the same namespace: %v, %v", pid, err, e)
		}
	}
	b.each(func(c command, l *look) {
		if status := l.ProcessState.ExitCode(); status != 0 {
			t.Errorf("%s ends with %d: %s", c.name, status, l.output.String())
		}
	})
}

// each has each command look at the workers, several at the same time, and checks each that has ended.
func (b *bed) each(check func(command, *look)) {
	b.Helper()
	// Those that stop a worker come one after the other: at one that another holds they fail.
	groups := make([][]command, 1)
	for _, c := range commands {
		if c.stops {
			groups = append(groups, []command{c})
		} else {
			groups[0] = append(groups[0], c)
		}
	}
	for _, group := range groups {
		var looks []*look
		for _, c := range group {
			looks = append(looks, b.look(c.line))
		}
		for i, l := range looks {
			if err := l.finish(); err != nil {
				b.Errorf("%s: %v", group[i].name, err)
				continue
			}
			if err := b.settled(l).err(); err != nil {
				b.Errorf("%s, or those at the same time: %v", group[i].name, err)
			}
			check(group[i], l)
		}
		if !repaired(b) {
			b.Fatal("the workers cannot be brought back")
		}
	}
}
