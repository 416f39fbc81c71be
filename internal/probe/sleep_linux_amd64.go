package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// sleeping is the programs that tell when workers do not run. They see each switch of the scheduler, or each
// system call, of the whole machine, and leave at once where it is none of a worker.
type sleeping struct {
	objects         sleepObjects
	switches, turns []link.Link // attached, once they are wanted
}

// sleeping loads the programs, which write to the session's ring.
func (s *Session) loadSleeping() (*sleeping, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.sleeping != nil {
		return s.sleeping, nil
	}
	spec, err := loadSleep()
	if err != nil {
		return nil, err
	}
	spec.Maps[sleepMapTasks].MaxEntries = mostWorkers
	spec.Maps[sleepMapStates].MaxEntries = mostWorkers
	spec.Maps[sleepMapScratches].MaxEntries = s.objects.Scratches.MaxEntries()
	shared := s.shared(spec)
	shared.MapReplacements[sleepMapScratches] = s.objects.Scratches
	var loaded sleeping
	if err := spec.LoadAndAssign(&loaded.objects, shared); err != nil {
		return nil, Explain("load the programs for the scheduler", err)
	}
	s.sleeping = &loaded
	return s.sleeping, nil
}

// attach attaches programs to the kernel's tracepoints of the same place, once.
func (l *sleeping) attach(links *[]link.Link, programs map[string]*ebpf.Program) error {
	if *links != nil {
		return nil
	}
	for name, program := range programs {
		one, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: program})
		if err != nil {
			detach(links)
			return Explain("attach to "+name, err)
		}
		*links = append(*links, one)
	}
	return nil
}

func (l *sleeping) close() error {
	detach(&l.switches)
	detach(&l.turns)
	return l.objects.Close()
}

// Sleeps has the source tell, too, when the worker's main thread is put to sleep by anything but its wait for
// events, with its stacks (Blocked), and when it is back (Back). With a longTurn above 0, it also tells turns of the
// event loop that take so long. Rest has the sums. at is where the thread is now; Asleep, it has
// a Back without a Blocked before it, which counts until it falls asleep again.
func (s *Source) Sleeps(longTurn time.Duration, at Whereabouts) error {
	l, err := s.session.loadSleeping()
	if err != nil {
		return err
	}
	state := sleepState{LongTurn: uint64(longTurn), Since: uint64(Now()), Away: uint32(at)}
	if at == Asleep {
		state.Sleeps = 1
	}
	if err := l.objects.States.Put(uint32(s.number), &state); err != nil {
		return Explain("describe the worker", err)
	}
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(fd)
	if err := l.objects.Threads.Put(int32(fd), uint32(s.number)); err != nil {
		return Explain("mark the worker's thread", err)
	}
	s.session.lock.Lock()
	defer s.session.lock.Unlock()
	return l.attachAll(longTurn > 0)
}

// attachAll attaches the programs for sleeps, and those for turns where they are wanted.
func (l *sleeping) attachAll(turns bool) error {
	o := &l.objects
	if err := l.attach(&l.switches, map[string]*ebpf.Program{"sched_switch": o.Switched, "sched_wakeup": o.Woken}); err != nil || !turns {
		return err
	}
	return l.attach(&l.turns, map[string]*ebpf.Program{"sys_enter": o.Calls, "sys_exit": o.Returns})
}

// checkSleeps tries what Sleeps takes.
func (s *Session) checkSleeps() error {
	l, err := s.loadSleeping()
	if err != nil {
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	return l.attachAll(true)
}

// awake ends what Sleeps began.
func (s *Source) awake() {
	l := s.session.sleeping
	if l == nil {
		return
	}
	s.awokeAt = Now()
	if fd, err := unix.PidfdOpen(s.pid, 0); err == nil {
		l.objects.Threads.Delete(int32(fd)) // it may have ended, and have none
		unix.Close(fd)
	}
	var state sleepState
	if err := l.objects.States.Lookup(uint32(s.number), &state); err == nil && state.Task != 0 {
		l.objects.Tasks.Delete(state.Task)
	}
}

// Now is the time on the clock of snapshots, CLOCK_MONOTONIC.
func Now() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // every Linux has it
	}
	return time.Duration(now.Nano())
}

// Rest is what became of the worker's time since Sleeps, until now or Detach.
func (s *Source) Rest() (Rest, error) {
	s.session.lock.Lock()
	l, now := s.session.sleeping, s.awokeAt
	s.session.lock.Unlock()
	if now == 0 {
		now = Now()
	}
	if l == nil {
		return Rest{}, errors.New("nobody asked when the worker sleeps")
	}
	var state sleepState
	if err := l.objects.States.Lookup(uint32(s.number), &state); err != nil {
		return Rest{}, Explain("read the worker's times", err)
	}
	r := Rest{Spent: Spent{
		Computed: time.Duration(state.Computed), Idle: time.Duration(state.Idle), Queued: time.Duration(state.Queued),
		Halted: time.Duration(state.Halted), Slept: time.Duration(state.Slept), Sleeps: int(state.Sleeps),
		Unseen: int(state.Unseen), UnseenFor: time.Duration(state.UnseenFor),
	}}
	switch Whereabouts(state.Away) {
	case Idle:
		r.Waits = true
	case Asleep, unseen:
		r.Asleep = time.Duration(state.Since)
	}
	r.Turn = time.Duration(state.Turn)
	r.TurnSlept, r.TurnQueued = time.Duration(state.TurnTimes.Blocked), time.Duration(state.TurnTimes.Queued)
	r.goOn(state.Away, max(0, now-time.Duration(state.Since)))
	r.Turns = DurationsOf(0, 0, state.Longest, state.Turns[:])
	return r, nil
}
