package harm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// freezable has moonlap start in a cgroup of its own, of the one version or the other.
func freezable(b *bed, r *rand.Rand) []string {
	kinds := freezers(b)
	b.freezer = kinds[r.IntN(len(kinds))]
	b.freezer.folder = filepath.Join(b.freezer.root, fmt.Sprintf("moonlap-harm-%d-%d", os.Getpid(), looks.Add(1)))
	if err := os.Mkdir(b.freezer.folder, 0o755); err != nil {
		b.Fatal(err)
	}
	return []string{"sh", "-c", `echo 0 >"$0/cgroup.procs" && exec "$@"`, b.freezer.folder}
}

// frozen: moonlap's cgroup is frozen, as `docker pause` does. A process that version 1 of cgroups has frozen cannot even be killed.
func frozen(b *bed, l *look, _ *rand.Rand) error {
	f := b.freezer
	write := func(text string) error { return os.WriteFile(filepath.Join(f.folder, f.file), []byte(text), 0) }
	err := write(f.on)
	if err == nil {
		err = awaited(f.frozen)
	}
	if err == nil {
		err = b.goesOn()
	}
	if err = errors.Join(err, write(f.off)); err == nil {
		err = l.finish()
	}
	for _, pid := range l.processes() { // what an error has left
		os.WriteFile(filepath.Join(f.root, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	}
	return errors.Join(err, awaited(func() error { return os.Remove(f.folder) }))
}

// A freezer is a way to freeze processes.
type freezer struct {
	root, file, on, off string
	state, says         string // what says in which file that they are frozen, all
	folder              string
}

func (f *freezer) frozen() error {
	text, err := os.ReadFile(filepath.Join(f.folder, f.state))
	if err == nil && !strings.Contains(string(text), f.says) {
		return fmt.Errorf("%s is not frozen: %s", f.folder, text)
	}
	return err
}

// freezers are those of this machine.
func freezers(b *bed) (all []freezer) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case f[2] == "cgroup2":
			all = append(all, freezer{f[1], "cgroup.freeze", "1", "0", "cgroup.events", "frozen 1", ""})
		case f[2] == "cgroup" && strings.Contains(","+f[3]+",", ",freezer,"):
			all = append(all, freezer{f[1], "freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN", ""})
		}
	}
	if len(all) == 0 {
		b.Skip("no cgroups that can be frozen are mounted")
	}
	return all
}
