package memory

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const tellExpendable = "MOONLAP_TEST_TELL_EXPENDABLE"

// This program once more, as one of moonlap's commands: what is its score when its packages are ready, and is its code locked?
func init() {
	if os.Getenv(tellExpendable) != "" {
		text, err := os.ReadFile("/proc/self/oom_score_adj")
		fmt.Print(strings.TrimSpace(string(text)))
		if err != nil {
			fmt.Print(err)
		}
		if status, err := os.ReadFile("/proc/self/status"); err != nil || !strings.Contains(string(status), "VmLck:\t       0 kB") {
			fmt.Print(" locked ", err)
		}
		os.Exit(0)
	}
}

// A worker was ended by the kernel while moonlap beside it, in the same memory cgroup, had only begun to start.
func TestWhoLooksEndsFirstFromTheBeginning(t *testing.T) {
	text, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSpace(string(text))
	for command, want := range map[string]string{
		"heap --pid 1": "1000", "explain --pid 1": "1000", "watch": "1000", "profile --all": "1000",
		"profile -- luajit x.lua": own, "bench x.lua": own, "": own,
	} {
		cmd := exec.Command("/proc/self/exe", strings.Fields(command)...)
		cmd.Env = append(os.Environ(), tellExpendable+"=1")
		got, err := cmd.CombinedOutput()
		if want == "1000" && os.Geteuid() == 0 { // its code stays in memory
			want += " locked <nil>"
		}
		if err != nil || string(got) != want {
			t.Errorf("moonlap %s: %q, %v, want %s", command, got, err, want)
		}
	}
}
