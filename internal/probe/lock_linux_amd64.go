package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
)

// timing is the programs that time locks.
type timing struct {
	objects lockObjects
	multi   bool   // the kernel has links of several probes, whose end removes them at once
	probes  uint32 // that there were
}

// haveMulti tells whether the kernel is Linux 6.6 or newer.
var haveMulti = func() bool { return features.HaveBPFLinkUprobeMulti() == nil }

func (s *Session) loadTiming() (*timing, error) {
	if s.timing != nil {
		return s.timing, nil
	}
	spec, err := loadLock()
	if err != nil {
		return nil, err
	}
	loaded := timing{multi: haveMulti()}
	if loaded.multi {
		for _, p := range spec.Programs {
			p.AttachType = ebpf.AttachTraceUprobeMulti
		}
	}
	if err := spec.LoadAndAssign(&loaded.objects, nil); err != nil {
		return nil, explain("load the programs for locks", err)
	}
	s.timing = &loaded
	return s.timing, nil
}

// A LockProbe times how long one worker waits for locks of shared memory, and holds them, while it is attached.
// Each lock that is taken then traps into the kernel three times.
type LockProbe struct {
	timing *timing
	target LockTarget
	number uint32 // of the probe
	times  uint32 // that it was attached
	links  []link.Link
}

// ProbeLocks loads the programs; Attach begins. Close the probe in the end, or the session.
func (s *Session) ProbeLocks(t LockTarget) (*LockProbe, error) {
	if err := mayReturn(t.PID); err != nil {
		return nil, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	loaded, err := s.loadTiming()
	if err != nil {
		return nil, err
	}
	loaded.probes++
	p := &LockProbe{timing: loaded, target: t, number: loaded.probes}
	return p, explain("prepare to time locks", loaded.objects.Takings.Put(uint64(p.number), lockTaken{}))
}

// Attach begins to time. A wait or a hold counts where its beginning and its end fall into the same attachment.
func (p *LockProbe) Attach() error {
	if err := mayReturn(p.target.PID); err != nil {
		return fmt.Errorf("attach to locks: %w", err)
	}
	program, err := link.OpenExecutable(p.target.Program)
	if err != nil {
		return fmt.Errorf("attach to locks: %w", err)
	}
	p.times++
	o := &p.timing.objects
	// In this order no end of a hold is missed whose beginning is seen.
	for _, one := range []struct {
		at      LockFunction
		returns bool
		program *ebpf.Program
	}{{p.target.Unlock, false, o.Gives}, {p.target.Lock, true, o.Takes}, {p.target.Lock, false, o.Wants}} {
		attached, err := p.attach(program, one.at, one.returns, one.program)
		if err != nil {
			p.Detach()
			return explain("attach to locks", err)
		}
		p.links = append(p.links, attached)
	}
	return nil
}

func (p *LockProbe) attach(to *link.Executable, at LockFunction, returns bool, program *ebpf.Program) (link.Link, error) {
	cookie := uint64(p.times)<<32 | uint64(p.number)
	one := &link.UprobeOptions{PID: p.target.PID, Offset: at.Offset, Cookie: cookie}
	multi := &link.UprobeMultiOptions{PID: uint32(p.target.PID), Offsets: []uint64{at.Offset}, Cookies: []uint64{cookie}}
	switch {
	case p.timing.multi && returns:
		return to.UretprobeMulti([]string{at.Name}, program, multi)
	case p.timing.multi:
		return to.UprobeMulti([]string{at.Name}, program, multi)
	case returns:
		return to.Uretprobe(at.Name, program, one)
	}
	return to.Uprobe(at.Name, program, one)
}

// Detach ends what Attach began; the times stay.
func (p *LockProbe) Detach() { detach(&p.links) }

// Prompt tells that Detach ends the traps at once. Before Linux 6.6 they go on until it returns, for some tenths of a second.
func (p *LockProbe) Prompt() bool { return p.timing.multi }

// Close forgets the times.
func (p *LockProbe) Close() {
	p.Detach()
	var key lockLock
	var l lockLocked
	var own []lockLock
	for locks := p.timing.objects.Locks.Iterate(); locks.Next(&key, &l); {
		if key.Worker == uint64(p.number) {
			own = append(own, key)
		}
	}
	for _, key := range own {
		_ = p.timing.objects.Locks.Delete(&key) // it is there
	}
	_ = p.timing.objects.Takings.Delete(uint64(p.number))
}

// Taken tells little, and costs little to ask for.
func (p *LockProbe) Taken() (Taken, error) {
	var t lockTaken
	err := p.timing.objects.Takings.Lookup(uint64(p.number), &t)
	return Taken{int(t.Count), time.Duration(t.Least), time.Duration(t.Last)}, explain("read how many locks were taken", err)
}

// Read returns the times of each lock that was taken since the beginning.
func (p *LockProbe) Read() ([]LockTimes, error) {
	var all []LockTimes
	var key lockLock
	var l lockLocked
	locks := p.timing.objects.Locks.Iterate()
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

func spans(sum, least, longest uint64, counts *[turnBuckets]uint64) Spans {
	s := Spans{Sum: time.Duration(sum), Least: time.Duration(least)}
	s.Longest = time.Duration(longest)
	s.counts = *counts
	return s
}
