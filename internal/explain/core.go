package explain

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/worker"
)

// AtEnd is what a core file tells of a process's end.
type AtEnd struct {
	File   string `json:"file"`
	Signal string `json:"signal,omitempty"` // SIGSEGV; "": it did not end
}

// Core explains the only look that a core file allows.
func Core(file string, signal syscall.Signal, s worker.Sample) Explanation {
	e := Shares(worker.Looks{Samples: []worker.Sample{s}})
	e.Core = &AtEnd{File: file}
	if s.Request.URI == "" {
		e.Requests = nil
	}
	if signal != 0 {
		e.Core.Signal = unix.SignalName(signal)
	}
	f := Finding{Code: "core", Text: "This is one moment of the process; it went on after the file was written.",
		Advice: "whether it loops can be seen of a running process alone: --pid"}
	if signal != 0 {
		f.Text = fmt.Sprintf("%s (signal %d) ended the process", e.Core.Signal, int(signal))
		f.Advice = "the stack below is what it did at that moment"
		if s.Lua {
			f.Text += " in " + worker.InnermostLua(s.Stack).Where()
			if s.Request.URI != "" {
				f.Text += ", for " + requestName(s)
			}
		}
		f.Text += "."
		if faults[signal] && len(s.Stack) > 0 {
			f.Advice += "; a fault comes from C or FFI code, which may have spoilt memory long before: look at its FFI calls and C modules"
		}
	}
	e.Findings = append(e.Findings, f)
	return e
}

// faults are signals that code causes by itself.
var faults = map[syscall.Signal]bool{syscall.SIGSEGV: true, syscall.SIGBUS: true, syscall.SIGILL: true, syscall.SIGFPE: true}
