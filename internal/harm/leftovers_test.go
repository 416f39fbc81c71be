package harm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/moonlap/moonlap/internal/process"
)

// wrongs are what must all be nil once moonlap has ended.
type wrongs struct {
	frozen, dead, silent, breakpoints, programs, processes, files error
	lost                                                          []error // requests
}

// settled counts requests lost, workers dead or frozen, breakpoints in their text, BPF programs, processes and files that were left.
func (b *bed) settled(l *look) (w wrongs) {
	answered := b.load.answered()
	w.frozen = awaited(b.healthy)
	w.dead = b.alive()
	w.silent = awaited(func() error { return more(b.load.answered(), answered+clients) }) // each client has had an answer, or one of them more
	w.breakpoints = awaited(b.untouched)
	suspects := b.newPrograms()
	w.programs = awaited(func() error { return b.noneLeft(suspects) })
	if w.processes = awaited(l.noProcesses); w.processes != nil {
		w.processes = fmt.Errorf("%w%s", w.processes, l.explain())
	}
	w.files = l.noFiles()
	w.lost = b.load.losses()
	return w
}

func (w wrongs) err() error {
	return errors.Join(append(w.lost, w.frozen, w.dead, w.silent, w.breakpoints, w.programs, w.processes, w.files)...)
}

// alive tells of workers that have ended, in whose place nginx has put others.
func (b *bed) alive() error {
	if now := b.workers(); !slices.Equal(now, b.pids) {
		was := b.pids
		b.pids = now
		return fmt.Errorf("the workers are %v, and were %v", now, was)
	}
	return nil
}

// untouched compares the workers' text with the files it was mapped from: a breakpoint would be a difference.
func (b *bed) untouched() error {
	var errs []error
	for _, pid := range b.workers() {
		errs = append(errs, untouched(pid))
	}
	return errors.Join(errs...)
}

func untouched(pid int) error {
	p, err := process.Open(pid)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, m := range p.Maps {
		if !m.Executable || m.Inode == 0 || strings.HasPrefix(m.Path, "/memfd") {
			continue
		}
		f, err := os.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End))
		if err != nil {
			return err
		}
		want, got := make([]byte, m.End-m.Start), make([]byte, m.End-m.Start)
		n, _ := f.ReadAt(want, int64(m.Offset))
		f.Close()
		if err := p.ReadAt(got[:n], m.Start); err != nil {
			return err
		}
		for i := range n {
			if want[i] != got[i] {
				return fmt.Errorf("worker %d: %s+%#x is %#x, not %#x", pid, m.Path, m.Offset+uint64(i), got[i], want[i])
			}
		}
	}
	return nil
}

// bpfPrograms are the BPF programs that the kernel has.
func bpfPrograms(t testing.TB) map[uint32]bool {
	all := map[uint32]bool{}
	for id := ebpf.ProgramID(0); ; {
		var err error
		if id, err = ebpf.ProgramGetNextID(id); err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				t.Logf("BPF programs cannot be counted here: %v", err)
			}
			return all
		}
		all[uint32(id)] = true
	}
}

// newPrograms are the BPF programs that there are now and were not before.
func (b *bed) newPrograms() map[uint32]bool {
	all := bpfPrograms(b)
	maps.DeleteFunc(all, func(id uint32, _ bool) bool { return b.programs[id] })
	return all
}

// noneLeft takes those programs from suspects that are gone, or held by somebody: others on this machine have some, which come
// and go while this looks. All that it leaves nobody holds but the kernel.
func (b *bed) noneLeft(suspects map[uint32]bool) error {
	if len(suspects) == 0 {
		return nil
	}
	held := heldPrograms()
	now := bpfPrograms(b)
	maps.DeleteFunc(suspects, func(id uint32, _ bool) bool { return held[id] || !now[id] })
	for id := range suspects {
		return fmt.Errorf("BPF program %d was left", id)
	}
	return nil
}

func heldPrograms() map[uint32]bool {
	held := map[uint32]bool{}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || !strings.Contains(target, "bpf") {
			continue
		}
		text, _ := os.ReadFile(strings.Replace(file, "/fd/", "/fdinfo/", 1))
		for line := range bytes.Lines(text) {
			if id, ok := bytes.CutPrefix(line, []byte("prog_id:")); ok {
				n, _ := strconv.Atoi(string(bytes.TrimSpace(id)))
				held[uint32(n)] = true
			}
		}
	}
	return held
}

func (l *look) noProcesses() error {
	if pids := l.processes(); len(pids) > 0 {
		return fmt.Errorf("processes of moonlap's were left: %v", pids)
	}
	return nil
}

// noFiles tells of files that nobody asked for. What was asked for may be there, or not, but not in part under another name.
func (l *look) noFiles() error {
	return filepath.WalkDir(l.folder, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(l.folder, path)
		switch {
		case err != nil || d.IsDir():
			return err
		case name == "p.html" || name == "h.json" || strings.HasPrefix(name, "captures/"):
			return nil
		}
		return fmt.Errorf("file %s was left", name)
	})
}
