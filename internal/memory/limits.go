// Package memory bounds what this program takes itself while it inspects another: how much is free, on the
// machine and in memory cgroups; large arrays, in memory or in a file; and that the kernel ends this program
// first where memory runs out all the same.
package memory

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A System is where the kernel shows the state of memory.
type System struct {
	Root string // "" is this machine; tests have trees of their own
}

// A Limit is a bound of memory and what is left below it.
type Limit struct {
	Name  string // "this machine", "memory cgroup /app"
	Bytes int64  // the bound
	Spare int64  // that may be taken: what is free, less what is left for others
	Err   error  // why it is not known; then Spare is 0

	Together bool // where the kernel ends one process of the group, it ends all (memory.oom.group)
}

func (l Limit) String() string {
	if l.Err != nil {
		return fmt.Sprintf("%s, whose limit cannot be read (%v)", l.Name, l.Err)
	}
	return fmt.Sprintf("%s (limit %s)", l.Name, Size(l.Bytes))
}

// reserve is what is left for others of what is free: a process that has to wait until the kernel finds
// memory for it is hurt, too.
func reserve(limit int64) int64 { return min(max(limit/20, 8<<20), 256<<20) }

// Machine is the whole machine's memory, of which as much is free as the kernel estimates (MemAvailable).
func (s System) Machine() Limit {
	l := Limit{Name: "this machine"}
	b, err := s.read("/proc/meminfo")
	if err != nil {
		l.Err = err
		return l
	}
	total, ok := field(b, "MemTotal:")
	free, ok2 := field(b, "MemAvailable:")
	if !ok || !ok2 {
		l.Err = errors.New("/proc/meminfo has no MemAvailable")
		return l
	}
	l.Bytes = total << 10
	l.Spare = max(0, free<<10-reserve(l.Bytes))
	return l
}

// Groups are the memory cgroups that a process is in, from its own up to the root, as far as they have
// limits, or end together. "self" is this process.
func (s System) Groups(process string) []Limit {
	unknown := func(name string, err error) Limit { return Limit{Name: name, Err: err} }
	file := "/proc/" + process + "/cgroup"
	text, err := s.read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a kernel without cgroups, or the process has ended
		return nil
	case err != nil:
		return []Limit{unknown("memory cgroup of process "+process, err)}
	}
	mounts, err := s.read("/proc/self/mountinfo")
	if err != nil {
		return []Limit{unknown("memory cgroup of process "+process, err)}
	}
	var all []Limit
	for line := range strings.Lines(text) {
		// 4:memory:/app, or 0::/app for version 2.
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		at, kind := fields[2], version2
		if fields[0] != "0" || fields[1] != "" {
			if kind = version1; !contains(fields[1], "memory") {
				continue
			}
		}
		mount, ok := findMount(mounts, kind)
		switch {
		case !ok && (at == "/" || kind == version2 && hasMemory1(text)):
			continue // no group, or the other version has the memory
		case !ok:
			all = append(all, unknown("memory cgroup "+at, errors.New("no such file system is mounted")))
			continue
		}
		all = append(all, s.chain(kind, mount, at)...)
	}
	return all
}

// hasMemory1 reports that /proc/PID/cgroup names a group of version 1 for memory.
func hasMemory1(text string) bool {
	for line := range strings.Lines(text) {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 && contains(f[1], "memory") {
			return true
		}
	}
	return false
}

func contains(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }

// A version of cgroups: the names of its files, as the kernel's admin-guide/cgroup-v1/memory and
// admin-guide/cgroup-v2 have them.
type version struct {
	filesystem, option string   // as mountinfo names it
	limits             []string // the lowest counts
	usages             []string // of each limit
	inactive           string   // in memory.stat: cached files that the kernel drops first
	together           string   // 1: see Limit.Together
}

var (
	version1 = &version{
		filesystem: "cgroup", option: "memory",
		limits:   []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"},
		usages:   []string{"memory.usage_in_bytes", "memory.memsw.usage_in_bytes"},
		inactive: "total_inactive_file",
		together: "memory.oom.group", // which it does not have
	}
	// Beyond memory.high a group is not ended, but made to wait, which hurts as much.
	version2 = &version{
		filesystem: "cgroup2",
		limits:     []string{"memory.max", "memory.high"},
		usages:     []string{"memory.current", "memory.current"},
		inactive:   "inactive_file",
		together:   "memory.oom.group",
	}
)

// A mount is where a hierarchy of groups is seen, from which of its groups on.
type mount struct{ root, point string }

// findMount finds a hierarchy in /proc/self/mountinfo (proc_pid_mountinfo(5)).
func findMount(text string, v *version) (mount, bool) {
	for line := range strings.Lines(text) {
		head, tail, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(head), strings.Fields(tail)
		if !ok || len(fields) < 6 || len(kind) < 3 || kind[0] != v.filesystem {
			continue
		}
		if v.option == "" || contains(kind[2], v.option) {
			return mount{unescape(fields[3]), unescape(fields[4])}, true
		}
	}
	return mount{}, false
}

// unescape undoes what mountinfo does to blanks: \040.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// chain reads a group and those above it, up to where the hierarchy is seen.
func (s System) chain(v *version, m mount, at string) (all []Limit) {
	name := "memory cgroup " + at
	below, ok := at, true // the root that is seen
	if m.root != "/" {
		below, ok = strings.CutPrefix(at, m.root)
	}
	if !ok || strings.Contains(at, "/..") || below != "" && below[0] != '/' {
		if at == "/" && m.root != "/" {
			below = "/"
		} else {
			return []Limit{{Name: name, Err: errors.New("it lies outside of what is mounted at " + m.point)}}
		}
	}
	if _, err := os.Stat(s.Root + path.Join(m.point, below)); err != nil {
		return []Limit{{Name: name, Err: err}}
	}
	for {
		if l, limited := s.group(v, path.Join(m.point, below)); limited {
			if l.Name = "memory cgroup " + path.Join("/", below); m.root != "/" {
				l.Name = "memory cgroup " + path.Join(m.root, below)
			}
			all = append(all, l)
		}
		if below == "/" || below == "" || below == "." {
			return all
		}
		below = path.Dir(below)
	}
}

// group reads one group's limits. Where it has none, limited is false.
func (s System) group(v *version, folder string) (l Limit, limited bool) {
	l.Bytes, l.Spare = math.MaxInt64, math.MaxInt64
	inactive := int64(0)
	stat, err := s.read(path.Join(folder, "memory.stat"))
	if err == nil {
		inactive, _ = field(stat, v.inactive)
	}
	for i, file := range v.limits {
		limit, known, err := s.number(path.Join(folder, file))
		if err == nil && !known {
			continue
		}
		var usage int64
		if err == nil {
			usage, _, err = s.number(path.Join(folder, v.usages[i]))
		}
		if err != nil {
			return Limit{Err: err}, true
		}
		l.Bytes = min(l.Bytes, limit)
		l.Spare = min(l.Spare, max(0, limit-max(0, usage-inactive)-reserve(limit)))
	}
	together, _, _ := s.number(path.Join(folder, v.together))
	l.Together = together == 1
	return l, l.Bytes < math.MaxInt64 || l.Together
}

// number reads a file of one number. known is false where there is no such file, or it says that there is
// no limit.
func (s System) number(file string) (n int64, known bool, err error) {
	text, err := s.read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	text = strings.TrimSpace(text)
	if text == "max" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%s: not a number: %q", file, text)
	}
	const unlimited = 1 << 60 // version 1 says so with a number near 2⁶³
	return n, n < unlimited, nil
}

func (s System) read(file string) (string, error) {
	b, err := os.ReadFile(s.Root + file)
	return string(b), err
}

// field is a number of a list such as /proc/meminfo and memory.stat.
func field(text, name string) (int64, bool) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// Size puts bytes into words: "812 MB".
func Size(n int64) string {
	switch {
	case n >= 100e9:
		return fmt.Sprintf("%d GB", n/1e9)
	case n >= 10e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%d MB", cmp.Or((n+5e5)/1e6, min(n, 1)))
}

// Spare is what may be taken of the machine and of all cgroups that pay for this process; false where it is not known.
func (s System) Spare() (int64, bool) {
	least := s.Machine()
	for _, l := range s.Groups("self") {
		if l.Err == nil && (least.Err != nil || l.Spare < least.Spare) {
			least = l
		}
	}
	return least.Spare, least.Err == nil
}
