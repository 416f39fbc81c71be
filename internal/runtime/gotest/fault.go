package gotest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/record"
)

// fault says why a run of a benchmark did not finish; nil when it did.
func (e *testEnd) fault() *record.Fault {
	f := &record.Fault{}
	found := len(e.results())
	switch {
	case e.TimedOut:
		f.Kind = record.FaultTimeout
		f.Text = fmt.Sprintf("%s did not end within %s%s", e.name, e.timeout, e.heard())
	case len(e.stack.lines) > 0 && e.Status == 2: // as the Go runtime ends a program
		f.Kind, f.Text, f.Traceback = record.FaultError, e.stack.text(), strings.Join(e.stack.lines, "\n")
		if strings.Contains(f.Text, "out of memory") {
			f.Kind = record.FaultMemory
		}
		file, line := e.stack.frame(e.pkg.dir)
		f.Source = e.place(file, line)
	case e.Signal != "":
		f.Kind = record.FaultCrash
		f.Text = fmt.Sprintf("%s was killed by %s%s", e.name, e.Signal, e.heard())
		if unix.SignalNum(e.Signal) == syscall.SIGKILL {
			f.Text += "; the kernel does so when memory runs out"
		}
	case len(e.said.failed) > 0 && e.Status != 0:
		file, line, text := e.said.complaint()
		f.Kind, f.Text, f.Source = record.FaultError, text, e.place(file, line)
	case len(e.said.skipped) > 0 && found == 0:
		_, _, text := e.said.complaint()
		f.Kind, f.Text = record.FaultError, fmt.Sprintf("%s was skipped this time: %s", e.name, text)
	case e.Status == 0 && !e.said.passed:
		f.Kind = record.FaultChannel
		f.Text = fmt.Sprintf("%s: the end of go test's results is missing; something closes or redirects os.Stdout, "+
			"or TestMain does not call m.Run%s", e.name, e.heard())
	case e.Status != 0:
		f.Kind = record.FaultExit
		f.Text = fmt.Sprintf("%s ended its own process with status %d before it had finished (os.Exit, or TestMain?)%s", e.name, e.Status, e.heard())
		if e.Stderr != nil {
			said, _, _ := strings.Cut(strings.TrimSpace(e.Stderr.Head), "\n")
			f.Text += "; it printed: " + said
		}
	case found < e.count:
		f.Kind = record.FaultChannel
		f.Text = fmt.Sprintf("go test's results of %s could not be read among what it prints%s; "+
			"let it print to stderr, or whole lines", e.name, e.heard())
	case e.untimed():
		f.Kind = record.FaultError
		f.Text = e.name + " reports no time: it never loops over b.N or b.Loop, or sets ns/op to 0"
	default:
		return nil
	}
	return f
}

// heard is how far the benchmark had come.
func (e *testEnd) heard() string {
	return fmt.Sprintf("; heard of %d of %s", len(e.results()), counted(e.count, "batch", "batches"))
}

// place is a position in the package's folder, as the user would write it.
func (e *testEnd) place(file string, line int) record.Source {
	if file == "" {
		return record.Source{}
	}
	return record.Source{File: filepath.Join(e.pkg.shown, file), Line: line}
}

// results are those of the benchmark itself: one that prints may make up others.
func (e *testEnd) results() (own []testResult) {
	for _, r := range e.said.results {
		if r.name == e.name+e.said.suffix() {
			own = append(own, r)
		}
	}
	return own
}

// untimed reports a result without a time, or with a number of calls in none that means there was no
// loop: in a µs no machine counts to a million.
func (e *testEnd) untimed() bool {
	return slices.ContainsFunc(e.results(), func(r testResult) bool {
		ns := r.values["ns/op"]
		return !(ns > 0) || r.calls >= 1e6 && ns*float64(r.calls) < 1000
	})
}
