package harm

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestDecoy: moonlap that looks has a decoy, which the kernel ends as readily, and which takes next to nothing and ends with it.
func TestDecoy(t *testing.T) {
	t.Parallel()
	b := newBed(t, t)
	b.build()
	l := b.look("watch --master MASTER --every 60s")
	defer l.kill()
	var status string
	b.await("a decoy", func() error {
		for _, pid := range l.processes() {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			score, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
			if status = string(text); err == nil && err2 == nil && strings.HasPrefix(status, "Name:\tmoonlap decoy\n") && string(score) == "1000\n" {
				return nil
			}
		}
		return errors.New("none")
	})
	const most = 1 << 20
	anonymous := 0
	for line := range strings.Lines(status) {
		fmt.Sscanf(line, "RssAnon: %d kB", &anonymous)
	}
	if anonymous<<10 > most {
		t.Errorf("it takes %d kB", anonymous)
	}
	l.signal(syscall.SIGKILL, l.Process.Pid)
	b.await("its end", l.noProcesses)
}
