package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Process is a running process, seen through /proc, or one that a core file holds; by one goroutine at a
// time.
type Process struct {
	PID  int
	Maps []Mapping // sorted by address, as they were when it was opened, or at the last ReadMaps
	Core *Core     // that holds it; nil: it runs

	mem     elfFile
	objects map[file]*Object
	lock    sync.Mutex // of objects

	kept    pages     // while it is stopped
	until   time.Time // when that ends, asked or not; zero: it is not stopped
	holding *holding  // of the holder that stops it; nil: none yet
	noScan  bool      // its page map is read as older kernels need it: for tests
}

// Open opens the process for reading. Close it afterwards.
func Open(pid int) (*Process, error) {
	p := &Process{PID: pid, objects: map[file]*Object{}}
	if leader := statusOf(pid, "Tgid:"); leader != 0 && leader != pid {
		return nil, fmt.Errorf("%d is not a process, but a thread of process %d", pid, leader)
	}
	if err := p.ReadMaps(); err != nil {
		return nil, err
	}
	if len(p.Maps) == 0 {
		return nil, fmt.Errorf("process %d has no memory of its own: it is a kernel thread, or it has ended", pid)
	}
	var err error
	if p.mem, err = os.Open(p.file("mem")); err != nil {
		return nil, p.explain(err)
	}
	return p, nil
}

// ReadMaps reads Maps anew: a process maps libraries and gives them back while it runs.
func (p *Process) ReadMaps() error {
	if p.Core != nil {
		return nil
	}
	f, err := os.Open(p.file("maps"))
	if err != nil {
		return p.explain(err)
	}
	defer f.Close()
	all, err := readMaps(f)
	if err != nil {
		return p.explain(fmt.Errorf("%s: %w", f.Name(), err))
	}
	p.Maps = all
	return nil
}

// Close gives back what Open took.
func (p *Process) Close() error {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.letGo()
	errs := []error{p.mem.Close()}
	for _, o := range p.objects {
		errs = append(errs, o.Close())
	}
	p.objects = nil
	return errors.Join(errs...)
}

// explain puts into words why a process cannot be opened.
func (p *Process) explain(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return fmt.Errorf("there is no process %d", p.PID)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("may not read the memory of process %d: run as root, or with CAP_SYS_PTRACE (%w)", p.PID, err)
	}
	return err
}

func (p *Process) file(name string) string { return fmt.Sprintf("/proc/%d/%s", p.PID, name) }

// ReadAt implements Memory.
func (p *Process) ReadAt(b []byte, address uint64) error {
	if p.kept.on && p.kept.read(still{p}, b, address) {
		return nil
	}
	if p.goesOn() {
		return &fault{address, len(b), errOver}
	}
	err := p.readAt(b, address)
	if err == nil && p.goesOn() {
		return &fault{address, len(b), errOver}
	}
	return err
}

// still reads the process's memory as long as it stands still, where it does at all.
type still struct{ p *Process }

// ReadAt implements io.ReaderAt.
func (s still) ReadAt(b []byte, at int64) (int, error) {
	n, err := s.p.mem.ReadAt(b, at)
	if s.p.goesOn() {
		return 0, errOver
	}
	return n, err
}

func (p *Process) readAt(b []byte, address uint64) error {
	if address >= 1<<63 {
		return &fault{address, len(b), syscall.EFAULT} // no offset of a file
	}
	if _, err := p.mem.ReadAt(b, int64(address)); err != nil {
		return &fault{address, len(b), err}
	}
	return nil
}

// Keep has what is read of the process kept from now on, page by page, until Forget or another Keep: what is
// close to it is not read again. Reading takes a page's memory out of the caches of the processor that
// the process runs on, so it costs the process, too.
func (p *Process) Keep() {
	p.kept.end()
	p.kept.begin()
}

// Forget ends Keep.
func (p *Process) Forget() { p.kept.end() }

// Ended reports that the process is no more, or a zombie.
func (p *Process) Ended() bool {
	if p.Core != nil {
		return false
	}
	s, err := p.Stat()
	return err != nil || s.Ended()
}

// Name is the process's name, as the kernel has it: 15 bytes at most.
func (p *Process) Name() string {
	if p.Core != nil {
		return p.Core.name
	}
	b, err := os.ReadFile(p.file("comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

// Title is the process's command line, which nginx overwrites with what the process is.
func (p *Process) Title() string {
	if p.Core != nil {
		return p.Core.title
	}
	b, err := os.ReadFile(p.file("cmdline"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
}

// Path is where a file of the process's own root, or of its current folder, is seen from here. A core does
// not tell that folder: there it is this program's.
func (p *Process) Path(path string) string {
	switch {
	case p.Core != nil:
		return p.Core.path(path)
	case !filepath.IsAbs(path):
		return filepath.Join(p.file("cwd"), path)
	}
	return p.file("root") + filepath.Clean(path)
}

// Mapped finds the mapping of an address.
func (p *Process) Mapped(address uint64) (Mapping, bool) {
	i, _ := slices.BinarySearchFunc(p.Maps, address, func(m Mapping, a uint64) int {
		switch {
		case m.End <= a:
			return -1
		case m.Start > a:
			return 1
		}
		return 0
	})
	if i < len(p.Maps) && p.Maps[i].Start <= address && address < p.Maps[i].End {
		return p.Maps[i], true
	}
	return Mapping{}, false
}

// Stat is what the kernel tells of a process's doings, from /proc/PID/stat (proc_pid_stat(5)).
type Stat struct {
	State  byte   // R running, S sleeping, D uninterruptible, T stopped, t traced, Z ended
	Parent int    // process id
	Group  int    // process group
	Ticks  uint64 // CPU time of its own, user and system, in hundredths of a second
}

// Ended reports that the process has, and maybe waits for its parent to notice.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// Stat reads the process's state now. One in a core ran when it was written.
func (p *Process) Stat() (Stat, error) {
	if p.Core != nil {
		return Stat{State: 'R'}, nil
	}
	b, err := os.ReadFile(p.file("stat"))
	if err != nil {
		return Stat{}, p.explain(err)
	}
	return parseStat(string(b))
}

// IDs lists the processes that /proc shows.
func IDs() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Family lists a process, those that descend from it, and those of its process group, as far as /proc
// shows them. What has gone into the background is in neither.
func Family(root int) []int {
	pids, _ := IDs()
	all := map[int]Stat{}
	for _, pid := range pids {
		if s, err := (&Process{PID: pid}).Stat(); err == nil {
			all[pid] = s
		}
	}
	var family []int
	for pid := range all {
		at := pid
		for range len(all) { // parents are read at different times, so they may lead around
			s, known := all[at]
			if at == root || known && s.Group == root {
				family = append(family, pid)
				break
			}
			if at = s.Parent; !known || at == 0 {
				break
			}
		}
	}
	slices.Sort(family)
	return family
}

// Parent is the process that started a process, or 0.
func Parent(pid int) int {
	s, _ := (&Process{PID: pid}).Stat()
	return s.Parent
}

func parseStat(line string) (Stat, error) {
	// The name, in parentheses, may hold blanks and parentheses.
	end := strings.LastIndexByte(line, ')')
	fields := strings.Fields(line[end+1:])
	if end < 0 || len(fields) < 13 {
		return Stat{}, fmt.Errorf("not a line of /proc/PID/stat: %q", line)
	}
	parent, err := strconv.Atoi(fields[1])
	group, err4 := strconv.Atoi(fields[2])
	user, err2 := strconv.ParseUint(fields[11], 10, 64)
	system, err3 := strconv.ParseUint(fields[12], 10, 64)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return Stat{}, fmt.Errorf("not a line of /proc/PID/stat: %w", err)
	}
	return Stat{State: fields[0][0], Parent: parent, Group: group, Ticks: user + system}, nil
}
