package probe

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/moonlap/moonlap/internal/memory"
)

// mostWorkers is how many workers one session can sample, those of reloads included.
const mostWorkers = 1024

// A Session is the programs, loaded into the kernel, and the ring that they write to. It is gone with
// its last file descriptor, so that nothing stays attached when this program is killed.
type Session struct {
	objects sampleObjects
	reader  *ringbuf.Reader
	ended   chan struct{}

	lock     sync.Mutex
	sources  []*Source // by number; nil: closed
	clocks   map[time.Duration]clock
	sleeping *sleeping            // nil: nobody wants it
	beside   map[string]io.Closer // programs that kinds of evidence have loaded, by their names: see Beside
}

// Open loads the programs, and tries to attach one. Its error tells what is missing on this machine, to
// this process (see Check), or is a memory.TightError.
func Open() (*Session, error) {
	if err := memory.RoomToProbe(); err != nil {
		return nil, err
	}
	_ = rlimit.RemoveMemlock() // kernels before 5.11 count the memory of maps; if it was needed, loading fails
	spec, err := loadSample()
	if err != nil {
		return nil, err
	}
	processors, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, Explain("count the processors", err)
	}
	spec.Maps[sampleMapScratches].MaxEntries = uint32(processors)
	spec.Maps[sampleMapWorkers].MaxEntries = mostWorkers
	spec.Maps[sampleMapTallies].MaxEntries = mostWorkers
	s := &Session{ended: make(chan struct{}), clocks: map[time.Duration]clock{}, beside: map[string]io.Closer{}}
	if err := spec.LoadAndAssign(&s.objects, nil); err != nil {
		return nil, Explain("load the programs", err)
	}
	trial, err := attach(s.objects.OnCpu, os.Getpid(), anyProcessor, time.Second, mostWorkers) // a number that no worker has
	if err != nil {
		s.objects.Close()
		return nil, Explain("attach to a CPU clock", err)
	}
	trial.close()
	if s.reader, err = ringbuf.NewReader(s.objects.Ring); err != nil {
		s.objects.Close()
		return nil, Explain("open the ring", err)
	}
	go s.read()
	return s, nil
}

// Close detaches and unloads everything.
func (s *Session) Close() error {
	s.lock.Lock()
	sources := s.sources
	s.lock.Unlock()
	for _, source := range sources {
		if source != nil {
			source.detach()
		}
	}
	for _, c := range s.clocks {
		c.close()
	}
	err := s.reader.Close()
	<-s.ended
	if s.sleeping != nil {
		err = errors.Join(err, s.sleeping.close())
	}
	for _, programs := range s.beside {
		err = errors.Join(err, programs.Close())
	}
	return errors.Join(err, s.objects.Close())
}

// every is how often the ring is looked into when it does not fill up before: seldom, because each time
// takes a processor from somebody. Prototypes and traces that a snapshot points to mostly live longer.
const every = 200 * time.Millisecond

// read hands snapshots out to their sources until the session is closed.
func (s *Session) read() {
	defer close(s.ended)
	defer s.pass(true)
	var record ringbuf.Record
	for next := time.Now(); ; {
		s.reader.SetDeadline(next)
		for {
			err := s.reader.ReadInto(&record)
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ringbuf.ErrFlushed) {
				break
			}
			if err != nil {
				return
			}
			s.dispatch(record.RawSample)
			record.RawSample = nil // the snapshot keeps it
		}
		next = time.Now()
		if !s.pass(false) {
			next = next.Add(every)
		}
	}
}

func (s *Session) dispatch(b []byte) {
	s.lock.Lock()
	defer s.lock.Unlock()
	number := workerOf(b)
	if number < 0 || number >= len(s.sources) || s.sources[number] == nil {
		return // it was closed
	}
	source := s.sources[number]
	m, err := decode(b, source.vm.Layout.Stack)
	if err != nil {
		source.spoiled++
		return
	}
	select {
	case source.snapshots <- m:
	default: // its reader is not keeping up
		source.spoiled++
	}
}

// pass ends a reading of the ring: sources that were detached before it have got all of theirs. It returns
// whether another one should follow at once.
func (s *Session) pass(last bool) (again bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for i, source := range s.sources {
		switch {
		case source == nil:
		case source.draining || last:
			close(source.snapshots)
			s.sources[i] = nil
		case source.detached:
			source.draining, again = true, true
		}
	}
	return again
}
