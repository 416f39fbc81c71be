package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what the kernel has counted for a process since it started, and what it holds now.
type Usage struct {
	At          time.Time
	CPU, Wait   time.Duration // running, and runnable but waiting for a processor
	Voluntary   uint64        // context switches because it waited for something
	Involuntary uint64        // because another process was to run
	MajorFaults uint64        // page faults that had to read a disk
	Read, Write uint64        // bytes by read(2), write(2) and their like; not by recv(2) and send(2)
	DiskRead    uint64        // bytes that came from a disk
	DiskWrite   uint64        // bytes that have to go to a disk
	RSS         uint64        // bytes of memory
	Sockets     int           // open ones, listening ones included; -1: not known
}

// Usage reads the counters now, from /proc/PID/schedstat, stat, status, io and fd (see proc(5)).
func (p *Process) Usage() (Usage, error) {
	u := Usage{At: time.Now()}
	var errs []error
	read := func(file string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID, file))
		errs = append(errs, err)
		return string(b)
	}
	schedstat := strings.Fields(read("schedstat"))
	if len(schedstat) >= 2 {
		u.CPU = time.Duration(number(schedstat[0]))
		u.Wait = time.Duration(number(schedstat[1]))
	}
	if _, after, ok := strings.Cut(read("stat"), ") "); ok {
		if fields := strings.Fields(after); len(fields) > 9 {
			u.MajorFaults = number(fields[9])
		}
	}
	status := fieldsOf(read("status"))
	u.Voluntary, u.Involuntary = status["voluntary_ctxt_switches"], status["nonvoluntary_ctxt_switches"]
	u.RSS = status["VmRSS"] << 10
	io := fieldsOf(read("io"))
	u.Read, u.Write = io["rchar"], io["wchar"]
	u.DiskRead, u.DiskWrite = io["read_bytes"], io["write_bytes"]
	u.Sockets = sockets(p.PID)
	if err := errors.Join(errs...); err != nil {
		return u, fmt.Errorf("process %d: %w", p.PID, err)
	}
	return u, nil
}

// fieldsOf reads lines such as "VmRSS:  1234 kB".
func fieldsOf(text string) map[string]uint64 {
	fields := map[string]uint64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if f := strings.Fields(value); len(f) > 0 {
			fields[name] = number(f[0])
		}
	}
	return fields
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

func sockets(pid int) int {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(folder)
	if err != nil {
		return -1
	}
	n := 0
	for _, f := range files {
		if to, err := os.Readlink(folder + "/" + f.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
