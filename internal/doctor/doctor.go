// Package doctor looks for what stands in the way of measuring on this machine, with a
// remedy for each, and tunes the machine for the time of one command. It puts back what it
// changed, however that command and moonlap itself end.
package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/record"
)

// What a check can come to.
const (
	OK      = "ok"
	Note    = "note"    // figures need care, or something is not to be had here
	Problem = "problem" // figures will be wrong, or a command will not work
)

// A Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Text   string `json:"text"`             // what it is, in one line
	Remedy string `json:"remedy,omitempty"` // what to do about it, in one line
}

// A Machine is what the checks look at.
type Machine struct {
	Root string // with proc and sys in it: "/", or a folder of a test
	Env  record.Environment
	// Counter opens a perf event and closes it again, of the hardware or of the kernel,
	// and returns the kernel's error.
	Counter func(hardware bool) error
	// Probe tries what sampling through eBPF takes; nil: it is not tried, files alone tell.
	Probe func() []probe.Checked
	// Yardsticks are the best times of the yardsticks that runs saw here since a day, in ns; empty: no run was here.
	Yardsticks map[string]float64
	Since      string
}

// Checks looks at the machine.
func (m Machine) Checks() []Check {
	checks := slices.Concat(m.unmounted(), m.frequency(), m.yardsticks())
	for _, check := range []func() Check{
		m.smt, m.aslr, m.load, m.steal, m.quota, m.clock, m.counters, m.perf, m.ebpf, m.ptrace, m.kernelNames,
	} {
		checks = append(checks, check())
	}
	return checks
}

// unmounted tells what of /proc and /sys is missing altogether, as in a plain chroot: other checks would seem to say
// what this kernel lacks.
func (m Machine) unmounted() []Check {
	var checks []Check
	for _, c := range []struct{ name, sign, without, remedy string }{
		{"/proc", "proc/self", "load, perf, ptrace, kernel names and workers cannot be read, and may seem to be missing", "mount -t proc proc /proc"},
		{"/sys", "sys/kernel", "frequency, SMT, clock and eBPF cannot be read, and may seem to be missing", "mount -t sysfs sys /sys; into a chroot or container, bind the host's read-only"},
	} {
		if _, err := os.Stat(filepath.Join(m.Root, c.sign)); err != nil {
			checks = append(checks, problem(c.name, "it is not mounted here: "+c.without, c.remedy))
		}
	}
	return checks
}

// read is a file of /proc or /sys without its newline.
func (m Machine) read(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(m.Root, name))
	return strings.TrimSpace(string(b)), err
}

func ok(name, text string) Check { return Check{name, OK, text, ""} }
func note(name, text, remedy string) Check {
	return Check{name, Note, text, remedy}
}
func problem(name, text, remedy string) Check {
	return Check{name, Problem, text, remedy}
}
