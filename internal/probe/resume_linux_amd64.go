package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
)

// resuming is the programs that time runs of Lua.
type resuming struct {
	objects resumeObjects
	multi   bool          // the kernel has links of several probes, whose end removes them at once
	each    time.Duration // what two traps cost: at a function's entry, and at its return
}

// loadResuming loads the programs, which write to the session's ring.
func (s *Session) loadResuming() (*resuming, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.resuming != nil {
		return s.resuming, nil
	}
	spec, err := loadResume()
	if err != nil {
		return nil, err
	}
	const ourselves = 1 // number mostWorkers, to know what a trap costs
	spec.Maps[resumeMapResumers].MaxEntries = mostWorkers + ourselves
	// Scratches of its own: ticks of a clock may come while it uses them.
	processors := s.objects.Scratches.MaxEntries()
	spec.Maps[resumeMapScratches].MaxEntries = processors
	spec.Maps[resumeMapBusy].MaxEntries = processors
	shared := map[string]*ebpf.Map{
		resumeMapRing: s.objects.Ring, resumeMapTallies: s.objects.Tallies, resumeMapWorkers: s.objects.Workers,
	}
	for name, m := range shared {
		spec.Maps[name].MaxEntries = m.MaxEntries()
	}
	loaded := resuming{multi: features.HaveBPFLinkUprobeMulti() == nil}
	if loaded.multi {
		for _, p := range spec.Programs {
			p.AttachType = ebpf.AttachTraceUprobeMulti
		}
	}
	if err := spec.LoadAndAssign(&loaded.objects, &ebpf.CollectionOptions{MapReplacements: shared}); err != nil {
		return nil, explain("load the programs for runs of Lua", err)
	}
	if loaded.each, err = loaded.trapCost(); err != nil {
		loaded.objects.Close()
		return nil, err
	}
	s.resuming = &loaded
	return s.resuming, nil
}

// trapCost measures on this process what it costs a function that its entry and its return are probed.
func (r *resuming) trapCost() (time.Duration, error) {
	return trapTime(func(pid int, program string, offset uint64) (*RunProbe, error) {
		p := &RunProbe{resuming: r, number: mostWorkers, target: RunTarget{
			PID: pid, Program: program, Functions: []RunFunction{{Offset: offset, Given: GivenHandler}},
		}}
		return p, p.Attach()
	})
}

// A RunProbe times how long one worker runs Lua, and waits between two runs for a request, while it is attached. Each
// run then traps into the kernel twice.
type RunProbe struct {
	resuming *resuming
	target   RunTarget
	number   int
	times    uint32 // that it was attached
	links    []link.Link
}

// Runs prepares a probe of the source's worker. Its moments are of the kind Ran.
func (s *Source) Runs(t RunTarget) (*RunProbe, error) {
	if err := mayReturn(t.PID); err != nil {
		return nil, err
	}
	r, err := s.session.loadResuming()
	if err != nil {
		return nil, err
	}
	const bits = 8 // of a byte
	at := resumeResumer{Mask: 1<<(bits*t.PhaseSize) - 1}
	err = r.objects.Resumers.Put(uint32(s.number), &at)
	return &RunProbe{resuming: r, target: t, number: s.number}, explain("describe the worker", err)
}

// Attach begins to time. A run or a wait counts where its beginning and its end fall into the same attachment.
func (p *RunProbe) Attach() error {
	if err := mayReturn(p.target.PID); err != nil {
		return fmt.Errorf("attach to runs of Lua: %w", err)
	}
	program, err := link.OpenExecutable(p.target.Program)
	if err != nil {
		return fmt.Errorf("attach to runs of Lua: %w", err)
	}
	p.times++
	o := p.resuming.objects
	// In this order no return is missed whose entry is seen.
	err = p.attach(program.UretprobeMulti, program.Uretprobe, o.Leaves)
	if err == nil {
		err = p.attach(program.UprobeMulti, program.Uprobe, o.Enters)
	}
	if err != nil {
		p.Detach()
		return explain("attach to runs of Lua", err)
	}
	return nil
}

func (p *RunProbe) attach(
	multi func([]string, *ebpf.Program, *link.UprobeMultiOptions) (link.Link, error),
	single func(string, *ebpf.Program, *link.UprobeOptions) (link.Link, error), b *ebpf.Program,
) error {
	var addresses, cookies []uint64
	for _, f := range p.target.Functions {
		const phaseAt, givenAt, timesAt = 16, 24, 32 // as in resume.h
		addresses = append(addresses, f.Offset)
		cookies = append(cookies, uint64(p.number)|uint64(f.Phase)<<phaseAt|uint64(f.Given)<<givenAt|uint64(p.times)<<timesAt)
	}
	if p.resuming.multi {
		one, err := multi(nil, b, &link.UprobeMultiOptions{Addresses: addresses, PID: uint32(p.target.PID), Cookies: cookies})
		if err == nil {
			p.links = append(p.links, one)
		}
		return err
	}
	for i, at := range addresses {
		one, err := single("", b, &link.UprobeOptions{Address: at, PID: p.target.PID, Cookie: cookies[i]})
		if err != nil {
			return err
		}
		p.links = append(p.links, one)
	}
	return nil
}

// Detach ends what Attach began; the times stay.
func (p *RunProbe) Detach() { detach(&p.links) }

// Each is what probing a run costs the worker: see trapCost.
func (p *RunProbe) Each() time.Duration { return p.resuming.each }

// Cost reads what it has taken to know.
func (p *RunProbe) Cost() (ProbedRuns, error) {
	var r resumeResumer
	err := p.resuming.objects.Resumers.Lookup(uint32(p.number), &r)
	return ProbedRuns{r.Traps, time.Duration(r.Looks), r.Lost}, explain("read the cost of the probe", err)
}

// Read returns the times of each phase that Lua ran in.
func (p *RunProbe) Read() ([]PhaseRuns, error) {
	var all []PhaseRuns
	var key resumePhase
	var r resumeResumed
	phases := p.resuming.objects.Phases.Iterate()
	for phases.Next(&key, &r) {
		if key.Worker != uint32(p.number) {
			continue
		}
		own, whole, waits := &r.Own, &r.Whole, &r.Waits
		all = append(all, PhaseRuns{
			Phase: key.Context,
			Own:   spans(own.Sum, own.Least, own.Longest, &own.Counts),
			Whole: spans(whole.Sum, whole.Least, whole.Longest, &whole.Counts),
			Waits: spans(waits.Sum, waits.Least, waits.Longest, &waits.Counts),
			Began: int(r.Fresh), Queued: time.Duration(r.Queued),
		})
	}
	if err := phases.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return nil, explain("read the times of runs of Lua", err)
	}
	return all, nil
}
