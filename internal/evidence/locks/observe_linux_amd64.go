package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/worker"
)

// An observer times the locks of one worker. Each lock that is taken while it is attached traps into the kernel three times.
type observer struct {
	*probe.Cycle
	worker  *worker.Worker
	objects lockObjects
	uprobes probe.Uprobes
	sites   []probe.Site
	bursts  uint64
	zones   []nginx.Zone
	before  Result // what Result has returned
}

// observeLocks prepares to time a worker's locks. Its error may be probe.ErrDear.
func observeLocks(at observe.At) (observe.Observer, error) {
	w := at.Worker
	const lock, unlock = "ngx_shmtx_lock", "ngx_shmtx_unlock"
	if err := probe.MayReturn(w.PID); err != nil {
		return nil, err
	}
	program, err := w.FindObject(lock, unlock)
	if err != nil {
		return nil, err
	}
	taking, err := w.PlaceOf(program, lock)
	if err != nil {
		return nil, err
	}
	giving, err := w.PlaceOf(program, unlock)
	if err != nil {
		return nil, err
	}
	atLock, err := probe.CheapAtEntry(lock, taking.Code)
	if err != nil {
		return nil, err
	}
	atUnlock, err := probe.CheapAt(unlock, giving.Code)
	if err != nil {
		return nil, err
	}
	return newObserver(w, taking.File, taking.Offset+atLock, giving.Offset+atUnlock, at.Budget)
}

func newObserver(w *worker.Worker, file string, lock, unlock uint64, budget float64) (*observer, error) {
	spec, err := loadLock()
	if err != nil {
		return nil, err
	}
	const trial, promptTrial = 50 * time.Millisecond, 10 * time.Millisecond
	o := &observer{worker: w, uprobes: probe.Uprobes{PID: w.PID, File: file, What: "locks"}}
	if err := probe.Load("locks", spec, &o.objects, nil); err != nil {
		return nil, err
	}
	// In this order no end of a hold is missed whose beginning is seen.
	o.sites = []probe.Site{
		{Program: o.objects.Gives, Offset: unlock}, {Program: o.objects.Takes, Offset: lock, Returns: true}, {Program: o.objects.Wants, Offset: lock},
	}
	o.Cycle = &probe.Cycle{Probe: o, Trial: trial, Budget: budget}
	if probe.Prompt() { // a worker that takes many locks is observed in as short bursts as tell anything, and more of them
		o.Trial = promptTrial
	}
	return o, nil
}

// Attach begins to time. A wait or a hold counts where its beginning and its end fall into the same attachment.
func (o *observer) Attach() error {
	o.bursts++
	for i := range o.sites {
		o.sites[i].Cookie = o.bursts
	}
	return o.uprobes.Attach(o.sites...)
}

// Detach ends what Attach began; the times stay.
func (o *observer) Detach() { o.uprobes.Detach() }

// Close forgets the times.
func (o *observer) Close() {
	o.Detach()
	o.objects.Close()
}

// Spent is what it has cost until now, and when the last lock was taken.
func (o *observer) Spent() (cost, last time.Duration, err error) {
	t, err := o.taken()
	return time.Duration(t.Count) * each(t), time.Duration(t.Last), err
}

func (o *observer) taken() (t lockTaken, err error) {
	return t, probe.Explain("read how many locks were taken", o.objects.Takings.Lookup(uint32(0), &t))
}

// each is what the probe costs a lock, at most. The shortest wait that was seen, that for a free lock, is one way out of the kernel
// and one into it, and two halves of programs: a trap. There are three: at the entry, at the return, and when the lock is given
// back; and one more, because the usual one costs more than the cheapest. Where no lock was free it is too much, and the probe
// rests longer than it has to.
func each(t lockTaken) time.Duration { return 4 * time.Duration(t.Shortest) }

// Result is what was timed since it was last asked for.
func (o *observer) Result() (evidence.Result, error) {
	duty, failed := o.Duty()
	t, err := o.taken()
	now := Result{Duty: duty, Taken: int(t.Count), Each: each(t), Workers: 1}
	now.Cost = time.Duration(now.Taken) * now.Each
	if len(o.zones) == 0 { // other workers may have been changing them
		o.zones, _ = o.worker.Nginx.Zones() // without their names there is nginx.OtherLock
	}
	var address uint64
	var l lockLocked
	all := o.objects.Locks.Iterate()
	for all.Next(&address, &l) {
		w, h := &l.Waits, &l.Holds
		now.add(Zone{
			Zone:  nginx.LockName(o.zones, address),
			Waits: probe.DurationsOf(w.Sum, w.Least, w.Longest, w.Counts[:]), Holds: probe.DurationsOf(h.Sum, h.Least, h.Longest, h.Counts[:]),
		})
	}
	if read := all.Err(); !errors.Is(read, ebpf.ErrIterationAborted) {
		err = errors.Join(err, probe.Explain("read the times of locks", read))
	}
	since := now.since(o.before)
	o.before = now
	return &since, errors.Join(failed, err)
}

// Run times locks until ctx ends.
func (o *observer) Run(ctx context.Context) error {
	if err := o.Cycle.Run(ctx); err != nil {
		return fmt.Errorf("time of locks: %w", err)
	}
	return nil
}
