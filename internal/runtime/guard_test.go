package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestHasMark(t *testing.T) {
	for _, c := range []struct {
		env  string
		want bool
	}{
		{"PATH=/bin\x00MOONLAP_GUARD=AAA\x00HOME=/", true},
		{"MOONLAP_GUARD=BBB,AAA", true},
		{"MOONLAP_GUARD=AAA,BBB\x00", true},
		{"MOONLAP_GUARD=AAAB", false},
		{"XMOONLAP_GUARD=AAA", false},
		{"X=MOONLAP_GUARD=AAA", false},
		{"", false},
	} {
		if got := hasMark([]byte(c.env), "AAA"); got != c.want {
			t.Errorf("%q: %v", c.env, got)
		}
	}
}

func TestHasNumber(t *testing.T) {
	const text = "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max realtime priority     7                    7                    \n" +
		"Max realtime timeout      2305843009213693959  4611686018427387911  us        \n"
	for number, want := range map[uint64]bool{2305843009213693959: true, 4611686018427387911: true, 7: false, 461168601842738791: false} {
		if got := hasNumber([]byte(text), number); got != want {
			t.Errorf("%d: %v", number, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	fields, err := parseStat([]byte("42 (a) b (c)) S 7 " + strings.Repeat("1 ", 30)))
	if err != nil || fields[0] != "S" || fields[1] != "7" {
		t.Errorf("%q, %v", fields, err)
	}
	for _, bad := range []string{"", "42", "42 (x", ") S 7", "42 (x) S"} {
		if fields, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %q", bad, fields)
		}
	}
}

// TestNote: what is noted and gone again, in slots that are used again.
func TestNote(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "note"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := &guard{note: f}
	expect := func(groups, processes string) {
		t.Helper()
		gs, ps := readNote(f)
		if fmt.Sprint(gs) != groups || fmt.Sprint(ps) != processes {
			t.Errorf("%v, %v", gs, ps)
		}
	}
	expect("[]", "[]")
	if groups, _ := readNote(f); groups != nil {
		t.Error("nothing was noted, and there is something to be done")
	}
	a, b := g.add(10), g.add(-11)
	c := g.add(12)
	expect("[10 12]", "[11]")
	b()
	expect("[10 12]", "[]")
	g.add(13)
	expect("[10 13 12]", "[]")
	a()
	c()
	expect("[13]", "[]")
	g.set(0, 0)
	if groups, _ := readNote(f); groups != nil {
		t.Error("it was dismissed")
	}
}

const guardedMark = "MOONLAP_TEST_GUARDED"

// TestGuard: killed outright, at random moments, a program leaves nothing that it has started, wherever that has gone to, and
// no folder.
func TestGuard(t *testing.T) {
	if pids := os.Getenv(guardedMark); pids != "" {
		if _, err := NewFolder(); err != nil {
			t.Fatal(err)
		}
		// In the process group; in a session of its own; there, with its parents gone; without the environment, but with
		// its parent; without either, and with all descriptors closed.
		code := `echo $$ >>"$0"
			sleep 300 & echo $! >>"$0"
			setsid sh -c 'echo $$ >>"$0"; sleep 300' "$0" &
			setsid sh -c 'setsid sh -c "echo \$\$ >>\$0; exec sleep 300" "$0" & exit' "$0"
			setsid sh -c 'echo $$ >>"$0"; env -i sh -c "echo \$\$ >>\$0; exec sleep 300" "$0"; :' "$0" &
			setsid env -i sh -c 'setsid env -i sh -c "echo \$\$ >>\$0; exec sleep 300 <&- >&- 2>&- 3>&-" "$0" & exit' "$0"
			while [ $(wc -l <"$0") -lt 7 ]; do sleep 0.01; done; : >"$0.ready"; wait`
		_, err := Run(t.Context(), Command{Path: "/bin/sh", Args: []string{"sh", "-c", code, pids}})
		t.Fatal(err)
	}
	for n := range 5 {
		dir := t.TempDir()
		pids := filepath.Join(dir, "pids")
		cmd := exec.Command(os.Args[0], "-test.run=^TestGuard$")
		cmd.Env = append(os.Environ(), guardedMark+"="+pids, "TMPDIR="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(pids + ".ready"); err == nil {
				break
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		b, err := os.ReadFile(pids)
		if err != nil {
			t.Fatal(err)
		}
		started := strings.Fields(string(b))
		if len(started) != 7 {
			t.Fatalf("it started %q", started)
		}
		left := func() (left []string) {
			for _, s := range started {
				if pid, _ := strconv.Atoi(s); alive(pid) {
					left = append(left, s)
				}
			}
			folders, _ := filepath.Glob(filepath.Join(dir, "moonlap-*"))
			return append(left, folders...)
		}
		for end := time.Now().Add(20 * time.Second); len(left()) > 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		}
		if l := left(); len(l) > 0 {
			t.Errorf("run %d: left behind: %q", n, l)
		}
	}
}

// TestDismiss: what is started to outlive a program that ends by itself does.
func TestDismiss(t *testing.T) {
	if pids := os.Getenv(guardedMark); pids != "" {
		_, err := Run(t.Context(), Command{Path: "/bin/sh", Args: []string{"sh", "-c",
			`setsid sh -c 'echo $$ >"$0"; exec sleep 300' "$0" >/dev/null 2>&1 & while [ ! -s "$0" ]; do sleep 0.01; done`, pids}})
		if err != nil {
			t.Fatal(err)
		}
		Dismiss()
		os.Exit(0)
	}
	pids := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command(os.Args[0], "-test.run=^TestDismiss$")
	cmd.Env = append(os.Environ(), guardedMark+"="+pids)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	b, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Kill()
	time.Sleep(300 * time.Millisecond) // as long as the guard would need
	if !alive(pid) {
		t.Error("it is gone")
	}
}
