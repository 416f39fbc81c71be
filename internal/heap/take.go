package heap

import (
	"errors"
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/memory"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// tries is how often a heap is read until it makes sense: a worker may be stopped in the middle of a
// change of one of its lists.
const tries = 3

// Options say what reading a heap may cost.
type Options struct {
	Pause time.Duration // how long the worker may stand still; 0: not at all
	Spill string        // folder for a file without a name that holds the copy; "": it is held in memory

	// Progress is called with what is being done, where it is set.
	Progress func(step string)
	// Note is called with what is worth knowing before it begins, where it is set.
	Note func(text string)
}

// Take copies a worker's memory while it stands still, for no longer than the pause, and says what is in the heap of each of its VMs
// and who holds it. With a pause of 0 the worker is not stopped; then some objects change while they are read.
// The error is a process.PauseError where the pause is too short, a memory.ShortError where there is too little
// memory, and a memory.FullError where there is too little space to spill to.
func Take(w *worker.Worker, o Options) (all []Heap, err error) {
	machines := w.Machines()
	for _, m := range machines {
		h, err := takeOf(w, m.VM, o)
		if err != nil {
			return all, err
		}
		if len(machines) > 1 {
			h.Machine = m.Name
		}
		all = append(all, h)
	}
	return all, nil
}

func takeOf(w *worker.Worker, vm *luajit.VM, o Options) (best Heap, err error) {
	found := false
	stops, longest := 0, int64(0)
	for stops < tries {
		var h Heap
		failed := memory.Run(func() (err error) {
			h, err = once(w, vm, o)
			return err
		})
		stops, longest = stops+1, max(longest, h.PauseNS)
		if failed != nil && !errors.Is(failed, luajit.ErrLayout) {
			return best, failed
		}
		if failed == nil && (!found || h.Cut+h.Broken < best.Cut+best.Broken) {
			best, found = h, true
		}
		if err = failed; found && (best.Cut+best.Broken == 0 || !best.Stopped || w.Core != nil) {
			break
		}
	}
	if !found {
		return best, err
	}
	best.Stops, best.PauseNS = stops, longest
	return best, nil
}

// meanObject is how many bytes an object of a heap has at least, in the mean: a table with two fields has 112, a
// short string 28.
const meanObject = 64

// heap reads it once.
func once(w *worker.Worker, vm *luajit.VM, o Options) (Heap, error) {
	space := &memory.Space{Folder: o.Spill, Checked: true, Progress: o.Progress}
	defer space.Close()
	if w.Core == nil {
		space.PID = w.PID
	}
	gc, err := vm.GC()
	if err != nil {
		return Heap{}, err
	}
	count := int64(min(gc.InUse, mostHeap)) / meanObject
	extra := needed(count)
	if o.Spill != "" {
		o.expect(w, count, extra)
	}
	space.Say("copy of its memory")
	s, err := w.Snapshot(process.SnapshotOptions{Pause: o.Pause, Space: space, Extra: extra})
	if err != nil {
		return Heap{}, err
	}
	space.Say("its objects")
	objects, err := vm.ReadHeap(s.Copy, s.Registers, space)
	if err != nil {
		return Heap{PauseNS: s.Pause.Nanoseconds()}, err
	}
	if err := space.Check(needed(int64(objects.Len()))); err != nil { // now they are counted
		return Heap{PauseNS: s.Pause.Nanoseconds()}, err
	}
	objects.Sources = w.Sources()
	objects.Request = func(coroutine uint64) string { return w.RequestOf(s.Copy, coroutine) }
	h := Census(objects, space)
	h.PID, h.LuaJIT = w.PID, vm.Library
	if w.Core != nil {
		h.Core = w.Core.Path
	}
	h.Stopped, h.PauseNS, h.Copied = s.Stopped, s.Pause.Nanoseconds(), s.Size()
	h.Total, h.Code, h.Sweeping = int64(objects.Total), int64(objects.Code), objects.Sweeps
	for _, o := range objects.Others {
		h.Others = append(h.Others, overhead{Name: o.Name, Bytes: int64(o.Bytes)})
	}
	h.Broken, h.Cut = h.Broken+int64(objects.Broken), int64(objects.Cut)
	return h, nil
}

// expect notes where a heap of N objects will take long, because what is used of the files in no order does not fit
// into memory. That there is too little space for the files is an error later, before the worker is stopped.
func (o Options) expect(w *worker.Worker, objects, arrays int64) {
	need := memory.Need{Own: busy(objects)}
	if w.Core == nil {
		need.PID = w.PID
	}
	var short *memory.ShortError
	if err := (memory.System{}).Check(need); o.Note != nil && errors.As(err, &short) {
		o.Note(fmt.Sprintf("to be quick, %v; it goes on, with up to %s in %s beside the copy, and may take very long", err, memory.Size(arrays), o.Spill))
	}
}

// mostHeap is what LuaJIT can address: what its count says beyond is garbage.
const mostHeap = 1 << 47
