package probe

import (
	"io"
	"time"

	"github.com/cilium/ebpf"
)

// Beside are the programs of one kind of evidence, which write to a session's ring beside its samplers. O points to what bpf2go made
// for them; their maps are those of take.h, and one named busy.
type Beside[O io.Closer] struct {
	What    string // names them in an error
	Spec    func() (*ebpf.CollectionSpec, error)
	Objects func() O // empty ones
	Workers []string // maps with an entry for each worker
	// Trial attaches them to a function of this process, at an offset of its file, to know what being probed costs.
	Trial func(l Loaded[O], pid int, file string, offset uint64) (detach func(), err error)
}

// Loaded are programs in the kernel, for one worker.
type Loaded[O io.Closer] struct {
	Objects O
	Cost    time.Duration // of being probed, to a function: see trapTime
	Number  int           // the worker's, in maps and for take
}

// Each is what being probed costs a function.
func (l Loaded[O]) Each() time.Duration { return l.Cost }

// Load loads the programs, once a session, which closes them.
func (b Beside[O]) Load(source *Source) (l Loaded[O], err error) {
	s := source.session
	s.lock.Lock()
	defer s.lock.Unlock()
	if have, there := s.beside[b.What].(Loaded[O]); there {
		have.Number = source.number
		return have, nil
	}
	spec, err := b.Spec()
	if err != nil {
		return l, err
	}
	const ourselves = 1 // number mostWorkers, to know what a trap costs
	for _, name := range b.Workers {
		spec.Maps[name].MaxEntries = mostWorkers + ourselves
	}
	for _, name := range []string{sampleMapScratches, "busy"} { // of its own: ticks of a clock may come while it uses them
		spec.Maps[name].MaxEntries = s.objects.Scratches.MaxEntries()
	}
	l = Loaded[O]{Objects: b.Objects(), Number: mostWorkers}
	if err := Load(b.What, spec, l.Objects, s.shared(spec)); err != nil {
		return l, err
	}
	if l.Cost, err = trapTime(func(pid int, file string, offset uint64) (func(), error) { return b.Trial(l, pid, file, offset) }); err != nil {
		l.Objects.Close()
		return l, err
	}
	s.beside[b.What] = l
	l.Number = source.number
	return l, nil
}

// Close unloads the programs.
func (l Loaded[O]) Close() error { return l.Objects.Close() }

// shared has programs use the session's maps for those of theirs that have the same names, but for scratches.
func (s *Session) shared(spec *ebpf.CollectionSpec) *ebpf.CollectionOptions {
	own := map[string]*ebpf.Map{sampleMapRing: s.objects.Ring, sampleMapTallies: s.objects.Tallies, sampleMapWorkers: s.objects.Workers}
	for name, m := range own {
		spec.Maps[name].MaxEntries = m.MaxEntries()
	}
	return &ebpf.CollectionOptions{MapReplacements: own}
}
