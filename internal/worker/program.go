package worker

import (
	"errors"
	"fmt"
	"os"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process"
)

// OpenProgram opens a process by its ID, whatever program it runs: an nginx worker or a whole nginx as
// Open does, any other by searching its memory for a Lua VM. Of such a program the main thread is
// looked at. Close it afterwards.
func OpenProgram(pid int) (*Worker, error) {
	return openAs(pid, (*Worker).findAny)
}

// findAny finds the machine of any program.
func (w *Worker) findAny() error {
	if _, err := w.FindObject("ngx_cycle"); err == nil {
		return w.findVM()
	}
	return w.searchVM()
}

// searchVM finds the machine of a program that tells nobody where it is.
func (w *Worker) searchVM() error {
	var err error
	// What forks has its child's memory for its own until the child runs its program.
	if w.Core == nil {
		if w.program, err = os.Stat(w.exe()); err != nil {
			return fmt.Errorf("process %d: %w", w.PID, err)
		}
	}
	library, layout, err := w.luaJIT()
	if err != nil {
		return err
	}
	stack := process.Interval{}
	for _, m := range w.Maps {
		if m.Path == "[stack]" {
			stack = process.Interval{From: m.Start, To: m.End}
		}
	}
	w.VM, err = luajit.Search(w.Process, w.Maps, library, layout, func(vm *luajit.VM) bool { return vm.OnStack(stack) })
	if err != nil {
		return err
	}
	if changed := w.Changed(); changed != nil { // what was searched may have been another one's
		return changed
	}
	return nil
}

func (w *Worker) exe() string { return fmt.Sprintf("/proc/%d/exe", w.PID) }

// ErrEnded is the error of a worker that is no more.
var ErrEnded = errors.New("it has ended")

// Changed reports that the process runs another program than it did when it was opened.
func (w *Worker) Changed() error {
	if w.program == nil {
		return nil
	}
	now, err := os.Stat(w.exe())
	if err == nil && !os.SameFile(now, w.program) {
		return fmt.Errorf("%w: its process runs another program now", ErrEnded)
	}
	return nil
}
