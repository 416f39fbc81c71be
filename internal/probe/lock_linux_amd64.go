package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// A LockProbe times how long one worker waits for locks of shared memory, and holds them, while it is attached.
// Each lock that is taken then traps into the kernel three times.
type LockProbe struct {
	session *Session
	target  LockTarget
	number  uint32 // of the probe
	times   uint32 // that it was attached
	links   []link.Link
}

// ProbeLocks loads the programs; Attach begins.
func (s *Session) ProbeLocks(t LockTarget) (*LockProbe, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.locks == nil {
		var o lockObjects
		if err := loadLockObjects(&o, nil); err != nil {
			return nil, explain("load the programs for locks", err)
		}
		s.locks = &o
	}
	s.lockProbes++
	return &LockProbe{session: s, target: t, number: s.lockProbes}, nil
}

// Attach begins to time. A wait or a hold counts where its beginning and its end fall into the same attachment.
func (p *LockProbe) Attach() error {
	program, err := link.OpenExecutable(p.target.Program)
	if err != nil {
		return fmt.Errorf("attach to locks: %w", err)
	}
	p.times++
	o, lock, unlock := p.session.locks, p.target.Lock, p.target.Unlock
	add := func(attach func(string, *ebpf.Program, *link.UprobeOptions) (link.Link, error), f LockFunction, b *ebpf.Program) {
		if err != nil {
			return
		}
		var one link.Link
		one, err = attach(f.Name, b, &link.UprobeOptions{
			PID: p.target.PID, Offset: f.Offset, Cookie: uint64(p.times)<<32 | uint64(p.number),
		})
		if err == nil {
			p.links = append(p.links, one)
		}
	}
	// In this order no end of a hold is missed whose beginning is seen.
	add(program.Uprobe, unlock, o.Gives)
	add(program.Uretprobe, lock, o.Takes)
	add(program.Uprobe, lock, o.Wants)
	if err != nil {
		p.Detach()
		return explain("attach to locks", err)
	}
	return nil
}

// Detach ends what Attach began; the times stay.
func (p *LockProbe) Detach() { detach(&p.links) }

// Read returns the times of each lock that was taken since the beginning.
func (p *LockProbe) Read() ([]LockTimes, error) {
	var all []LockTimes
	var key lockLock
	var l lockLocked
	locks := p.session.locks.Locks.Iterate()
	for locks.Next(&key, &l) {
		if key.Worker != uint64(p.number) {
			continue
		}
		w, h := &l.Waits, &l.Holds
		all = append(all, LockTimes{
			Address: key.Address,
			Waits:   spans(w.Sum, w.Least, w.Longest, &w.Counts),
			Holds:   spans(h.Sum, h.Least, h.Longest, &h.Counts),
		})
	}
	if err := locks.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return nil, explain("read the times of locks", err)
	}
	return all, nil
}

func spans(sum, least, longest uint64, counts *[turnBuckets]uint32) Spans {
	s := Spans{Sum: time.Duration(sum), Least: time.Duration(least)}
	s.Longest = time.Duration(longest)
	for i, n := range counts {
		s.counts[i] = uint64(n)
	}
	return s
}
