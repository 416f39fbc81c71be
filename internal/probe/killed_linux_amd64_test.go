package probe_test

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
)

// The functions of the C library that stand for nginx's: no probe is called while the program sleeps.
const locking, unlocking = "pthread_mutex_lock", "pthread_mutex_unlock"

// probeLibrary probes the C library of a process at the entry and the return of functions, as --resumes and --locks probe nginx. The
// programs and the probes have to be kept: they are closed when nothing refers to them.
func probeLibrary(pid int) ([]*ebpf.Program, *probe.Uprobes, error) {
	library, _, err := libraryOf(pid)
	if err != nil {
		return nil, nil, err
	}
	spec := &ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}}
	if probe.HaveMulti() {
		spec.AttachType = ebpf.AttachTraceUprobeMulti
	}
	var programs []*ebpf.Program
	var sites []probe.Site
	for _, returns := range []bool{true, false} {
		program, err := ebpf.NewProgram(spec)
		if err != nil {
			return nil, nil, err
		}
		programs = append(programs, program)
		for _, name := range []string{locking, unlocking} {
			at, err := offsetOf(library, name)
			if err != nil {
				return nil, nil, err
			}
			sites = append(sites, probe.Site{Program: program, Offset: at, Returns: returns})
		}
	}
	probes := &probe.Uprobes{PID: pid, File: library, What: "the C library"}
	return programs, probes, probes.Attach(sites...)
}

// offsetOf is how far a function's code is from the beginning of its file.
func offsetOf(library, name string) (uint64, error) {
	file, err := elf.Open(library)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		for _, p := range file.Progs {
			if s.Name == name && p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return s.Value - p.Vaddr + p.Off, nil
			}
		}
	}
	return 0, fmt.Errorf("%s does not export %s", library, name)
}

// libraryOf is the path of a process's C library, and where that lies in its memory.
func libraryOf(pid int) (path string, start uint64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 6 && strings.HasPrefix(filepath.Base(fields[5]), "libc") && strings.Contains(fields[5], ".so") && fields[2] == "00000000" {
			from, _, _ := strings.Cut(fields[0], "-")
			start, err = strconv.ParseUint(from, 16, 64)
			return fields[5], start, err
		}
	}
	return "", 0, errors.Join(err, fmt.Errorf("process %d has no C library", pid))
}

// TestKilled: nothing of a profiler that is killed outright stays in the kernel, or in what it looked at: no program, no map,
// no link, no probe.
func TestKilled(t *testing.T) {
	open(t)
	asleep := exec.Command("sleep", "1000")
	if err := asleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		asleep.Process.Kill()
		asleep.Wait()
	})
	pid := asleep.Process.Pid
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) { // until it has its library
		if _, _, err := libraryOf(pid); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	before := codeOf(t, pid)
	profiler, _ := child(t, fmt.Sprint(profiling, " ", pid))
	held := heldBy(t, profiler.Process.Pid)
	for _, pid := range process.Family(profiler.Process.Pid) { // its keeper
		if pid != profiler.Process.Pid {
			for what, ids := range heldBy(t, pid) {
				held[what] = append(held[what], ids...)
			}
		}
	}
	// Clocks of processors, of the scheduler and of system calls; probes at the entry and the return of functions.
	if len(held["prog_id"]) < 8 || len(held["link_id"]) < 7 || len(held["map_id"]) < 8 {
		t.Fatalf("the profiler has %v", held)
	}
	if now := codeOf(t, pid); bytes.Equal(now, before) {
		t.Fatal("there is no probe")
	}
	profiler.Process.Kill()
	profiler.Wait()
	for what, is := range map[string]func(uint32) bool{
		"prog_id": func(id uint32) bool { return gone(ebpf.NewProgramFromID(ebpf.ProgramID(id))) },
		"map_id":  func(id uint32) bool { return gone(ebpf.NewMapFromID(ebpf.MapID(id))) },
		"link_id": func(id uint32) bool { return gone(link.NewFromID(link.ID(id))) },
	} {
		for _, id := range held[what] {
			eventually(t, fmt.Sprintf("%s %d is gone", what, id), func() bool { return is(id) })
		}
	}
	eventually(t, "the code is as it was", func() bool { return bytes.Equal(codeOf(t, pid), before) })
	if library, _, _ := libraryOf(pid); strings.Contains(uprobeEvents(t), library) {
		t.Errorf("a probe at %s is left", library)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in 30 s: %s", what)
		}
	}
}

func gone[T interface{ Close() error }](object T, err error) bool {
	if err == nil {
		object.Close()
	}
	return errors.Is(err, unix.ENOENT)
}

// codeOf is the beginning of both functions, as it is in the process's memory.
func codeOf(t *testing.T, pid int) []byte {
	t.Helper()
	library, start, err := libraryOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	var code []byte
	for _, name := range []string{locking, unlocking} {
		i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("%s does not export %s", library, name)
		}
		some := make([]byte, 8)
		if _, err := memory.ReadAt(some, int64(start+symbols[i].Value)); err != nil {
			t.Fatal(err)
		}
		code = append(code, some...)
	}
	return code
}

// heldBy are the IDs in the kernel of what a process has open: its programs, maps, and attachments.
func heldBy(t *testing.T, pid int) map[string][]uint32 {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]uint32{}
	for _, file := range files {
		b, _ := os.ReadFile(file)
		for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
			key, value, _ := strings.Cut(lines.Text(), ":")
			if !slices.Contains([]string{"prog_id", "map_id", "link_id"}, key) {
				continue
			}
			id, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(all[key], uint32(id)) {
				all[key] = append(all[key], uint32(id))
			}
		}
	}
	return all
}

// uprobeEvents is what the tracing file system knows of probes in programs; it is mounted for that.
func uprobeEvents(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("tracefs", folder, "tracefs", 0, ""); err != nil {
		t.Logf("not looked into: tracefs cannot be mounted here: %v", err)
		return ""
	}
	defer unix.Unmount(folder, 0)
	b, err := os.ReadFile(filepath.Join(folder, "uprobe_events"))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return string(b)
}
