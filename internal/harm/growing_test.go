package harm

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// growing: the workers take about 100 MB of memory a second while moonlap looks.
func growing(b *bed, l *look, _ *rand.Rand) error {
	b.load.path.Store("/grow")
	defer b.load.path.Store("/")
	if err := l.finish(); err != nil {
		return err
	}
	return l.endsWell()
}

// blinded has moonlap start where the files of the kernel's types and of cgroups are hidden.
func blinded(b *bed, _ *rand.Rand) []string {
	b.early = true
	return []string{"unshare", "--mount", "sh", "-c", `for d in /sys/kernel/btf /sys/fs/cgroup; do mount -t tmpfs none $d || exit 9; done; exec "$0" "$@"`}
}

// refuses: moonlap does its work, or says why it does not.
func refuses(_ *bed, l *look, _ *rand.Rand) error {
	if err := l.finish(); err != nil {
		return err
	}
	return l.endsWell()
}

// endsWell reports whether moonlap has done what it was asked for, or has said why not.
func (l *look) endsWell() error {
	code, out := l.ProcessState.ExitCode(), l.output.String()
	if code != 0 && (code != 1 && code != 3 || !strings.Contains(out, "moonlap: ")) || strings.Contains(out, "goroutine ") {
		return fmt.Errorf("exit status %d: %s", code, out)
	}
	return nil
}

// TestFullDisk: a copy that does not fit onto the disk of --spill is refused, or given up, while the worker grows.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	b := newBed(t, t)
	b.load.path.Store("/grow")
	const sure = 4 // MB in which no heap fits
	for _, size := range []int{sure, 16, 32, 64} {
		l := b.look("heap --master MASTER --pause 0 --spill FOLDER/spill", "sh", "-c", fmt.Sprintf(`mkdir "$0/looks/%d/spill" &&
			exec unshare --mount sh -c 'mount -t tmpfs -o size=%dm none "$0" && exec "$@"' "$0/looks/%[1]d/spill" "$@"`, looks.Load()+1, size), b.folder)
		err := l.finish()
		if err == nil {
			err = l.endsWell()
		}
		if out := l.output.String(); err == nil && (size == sure || l.ProcessState.ExitCode() != 0) && !strings.Contains(out, "the disk has") {
			err = fmt.Errorf("exit status %d: %s", l.ProcessState.ExitCode(), out)
		}
		if w := b.settled(l).err(); err != nil || w != nil {
			t.Errorf("%d MB in %s: %v\n%v", size, filepath.Join(l.folder, "spill"), err, w)
		}
	}
}
