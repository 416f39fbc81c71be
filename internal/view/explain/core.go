package explain

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// core explains the only sample that a core file allows.
func core(file string, signal syscall.Signal, s sample.Sample) *profile.Profile {
	p, parts := describe(sample.Series{Samples: []sample.Sample{s}})
	p.Core = &profile.Core{File: file}
	if s.Request.URI == "" {
		parts.Requests = nil
	}
	if signal != 0 {
		p.Core.Signal = unix.SignalName(signal)
	}
	f := Finding{Code: "core", Text: "This is the process at one instant; it went on after the file was written.",
		Advice: "whether it loops can be seen of a running process alone: --pid"}
	if signal != 0 {
		f.Text = fmt.Sprintf("%s (signal %d) ended the process", p.Core.Signal, int(signal))
		f.Advice = "the stack below is what it did then"
		if s.Lua {
			f.Text += " in " + sample.InnermostLua(s.Stack).Where()
			if s.Request.URI != "" {
				f.Text += ", for " + shares.Request(s)
			}
		}
		f.Text += "."
		if faults[signal] && len(s.Stack) > 0 {
			f.Advice += "; a fault comes from C or FFI code, which may have spoilt memory long before: look at its FFI calls and C modules"
		}
	}
	p.Evidence[Name] = &Findings{f}
	return p
}

// faults are signals that code causes by itself.
var faults = map[syscall.Signal]bool{syscall.SIGSEGV: true, syscall.SIGBUS: true, syscall.SIGILL: true, syscall.SIGFPE: true}
