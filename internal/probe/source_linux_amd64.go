package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/luajit"
)

// A Source is the snapshots of one worker.
type Source struct {
	session   *Session
	number    int
	pid       int
	period    time.Duration
	vm        *luajit.VM
	worker    sampleWorker
	snapshots chan *Snapshot

	clocked  bool                // the processors' clocks sample the main thread
	threads  map[int]*attachment // by ID: those with a clock of their own
	detached bool                // under the session's lock, as all below
	draining bool
	spoiled  uint64
	awokeAt  time.Duration // when Sleeps ended; 0: not yet
}

// Attach begins to sample a worker at N ticks a second of each thread's CPU time; at none with hz 0. A
// session samples a worker once at a time.
func (s *Session) Attach(t Target, hz float64) (*Source, error) {
	end, err := stackEnd(t.PID)
	if err != nil {
		return nil, err
	}
	const argc = 16 // bytes from there that _start may look at
	var period time.Duration
	if hz > 0 {
		period = time.Duration(float64(time.Second) / hz)
	}
	source := &Source{
		session: s, pid: t.PID, vm: t.VM, period: period,
		snapshots: make(chan *Snapshot, 1024), threads: map[int]*attachment{},
		worker: describe(t, end+argc),
	}
	s.lock.Lock()
	source.number = len(s.sources)
	s.sources = append(s.sources, source)
	s.lock.Unlock()
	if source.number >= mostWorkers {
		err = fmt.Errorf("more than %d workers in one session", mostWorkers)
	} else if err = source.put(); err == nil {
		err = errors.Join(source.join(), source.Threads())
	}
	if err != nil {
		source.detach()
		return nil, err
	}
	return source, nil
}

// describe puts the target into the words of moment.h.
func describe(t Target, stackEnd uint64) sampleWorker {
	l := t.VM.Layout
	var other uint64
	if t.Other != nil {
		other = t.Other.Global
	}
	return sampleWorker{
		Global: t.VM.Global, AsmFrom: t.VM.Asm.From, AsmTo: t.VM.Asm.To, StackEnd: stackEnd, Clock: t.Clock,
		VmState: l.VMState, Current: l.CurrentL, JitBase: l.JITBase,
		GlobalState: l.GlobalState, Base: l.Base, Top: l.Top, Stack: l.Stack, Cframe: l.CFrame,
		Request: l.ExtraData, Uri: t.URI, Context: t.Context, Phase: t.Phase, Other: other, Exit: t.Exit, Traces: l.Traces,
	}
}

// Snapshots are the worker's, in the order of each thread's time. The channel is closed after Detach, when all
// have been read.
func (s *Source) Snapshots() <-chan *Snapshot { return s.snapshots }

// SetURI tells where a request keeps its URI, once that is known; snapshots have it from then on.
func (s *Source) SetURI(offset uint64) error {
	if s.worker.Uri == offset {
		return nil
	}
	s.worker.Uri = offset
	return s.put()
}

// SetExit tells where the machine keeps which trace it leaves, in the same way.
func (s *Source) SetExit(distance uint64) error {
	if s.worker.Exit == distance {
		return nil
	}
	s.worker.Exit = distance
	return s.put()
}

// Settled tells where the machine's traces are, once there were some to tell it by, in the same way.
func (s *Source) Settled() error {
	if s.worker.Traces == s.vm.Layout.Traces {
		return nil
	}
	s.worker.Traces = s.vm.Layout.Traces
	return s.put()
}

func (s *Source) put() error {
	return Explain("describe the worker", s.session.objects.Workers.Put(uint32(s.number), &s.worker))
}

// Lost is how many snapshots have not come to Snapshots, because nobody took them out of the ring in time.
func (s *Source) Lost() (uint64, error) {
	var c sampleCounts
	err := s.session.objects.Tallies.Lookup(uint32(s.number), &c)
	s.session.lock.Lock()
	defer s.session.lock.Unlock()
	return c.Lost + s.spoiled, err
}

// Threads attaches to threads that the worker has started since. Those that ended meanwhile are no error.
// It is not to be called after Detach.
func (s *Source) Threads() error {
	folders, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
	if err != nil {
		return err
	}
	for _, f := range folders {
		thread, err := strconv.Atoi(f.Name())
		if err != nil || s.threads[thread] != nil || s.period == 0 || s.clocked && thread == s.pid {
			continue
		}
		cookie := uint64(s.number)
		if thread != s.pid {
			cookie |= 1 << 32
		}
		a, err := attach(s.session.objects.OnCpu, thread, anyProcessor, s.period, cookie)
		if errors.Is(err, unix.ESRCH) && thread != s.pid {
			continue
		}
		if err != nil {
			return Explain("attach to the worker's CPU clock", err)
		}
		s.threads[thread] = a
	}
	return nil
}

// Detach ends the sampling. What has been sampled still comes to Snapshots, which is closed then.
func (s *Source) Detach() {
	s.detach()
	_ = s.session.reader.Flush() // it looks into the ring now; if this fails, a little later
}

func (s *Source) detach() {
	s.leave()
	for _, a := range s.threads {
		a.close()
	}
	s.session.lock.Lock()
	defer s.session.lock.Unlock()
	s.awake()
	s.threads, s.detached = nil, true
}

// An attachment is a program at a CPU clock: of a thread, or of a processor.
type attachment struct{ event, link int }

const anyThread, anyProcessor = -1, -1

func attach(program *ebpf.Program, thread, processor int, period time.Duration, cookie uint64) (*attachment, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: uint64(period),
	}
	const noGroup = -1
	event, err := unix.PerfEventOpen(&attr, thread, processor, noGroup, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	link, err := linkPerfEvent(program.FD(), event, cookie)
	if err != nil {
		unix.Close(event)
		return nil, fmt.Errorf("BPF_LINK_CREATE: %w", err)
	}
	return &attachment{event, link}, nil
}

func (a *attachment) close() {
	unix.Close(a.link)
	unix.Close(a.event)
}

// linkPerfEvent attaches a program to a perf event with a cookie, which ebpf's link package does for
// kernel and user probes only. See struct link_create of union bpf_attr in linux/bpf.h.
func linkPerfEvent(program, event int, cookie uint64) (int, error) {
	const create, perfEvent = 28, 41 // BPF_LINK_CREATE, BPF_PERF_EVENT
	attr := struct {
		program, target, attachType, flags uint32
		cookie                             uint64
	}{uint32(program), uint32(event), perfEvent, 0, cookie}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, create, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return 0, errno
	}
	unix.CloseOnExec(int(fd))
	return int(fd), nil
}
