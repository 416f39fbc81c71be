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

// frozen: the cgroup of all of moonlap's processes is frozen, as `docker pause` does. A process that is frozen by version 1 of
// cgroups cannot even be killed.
func frozen(b *bed, l *look, r *rand.Rand) error {
	kinds := freezers(b)
	f := kinds[r.IntN(len(kinds))]
	folder := filepath.Join(f.root, fmt.Sprintf("moonlap-harm-%d", os.Getpid()))
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	write := func(name, text string) error { return os.WriteFile(filepath.Join(folder, name), []byte(text), 0) }
	for _, pid := range l.processes() {
		write("cgroup.procs", strconv.Itoa(pid)) // it may have ended
	}
	err := write(f.file, f.on)
	if err == nil {
		err = b.goesOn()
	}
	err = errors.Join(err, write(f.file, f.off))
	for _, pid := range l.processes() {
		os.WriteFile(filepath.Join(f.root, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	}
	return errors.Join(err, awaited(func() error { return os.Remove(folder) }))
}

// A freezer is a way to freeze processes.
type freezer struct{ root, file, on, off string }

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
			all = append(all, freezer{f[1], "cgroup.freeze", "1", "0"})
		case f[2] == "cgroup" && strings.Contains(","+f[3]+",", ",freezer,"):
			all = append(all, freezer{f[1], "freezer.state", "FROZEN", "THAWED"})
		}
	}
	if len(all) == 0 {
		b.Skip("no cgroups that can be frozen are mounted")
	}
	return all
}
