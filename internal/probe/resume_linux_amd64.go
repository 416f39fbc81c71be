package probe

import (
	"errors"
	"time"

	"github.com/cilium/ebpf"
)

// resuming is the programs that time resumes.
type resuming struct {
	objects resumeObjects
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
	loaded := resuming{}
	if err := Load("resumes", spec, &loaded.objects, &ebpf.CollectionOptions{MapReplacements: shared}); err != nil {
		return nil, err
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
	return trapTime(func(pid int, program string, offset uint64) (*ResumeProbe, error) {
		p := r.probe(ResumeTarget{PID: pid, Program: program, Functions: []ResumeFunction{{Offset: offset, Given: GivenHandler}}}, mostWorkers)
		return p, p.Attach()
	})
}

// A ResumeProbe times how long resumes of one worker take, and the waits between two resumes for a request, while it is attached. Each
// resume then traps into the kernel twice.
type ResumeProbe struct {
	resuming *resuming
	target   ResumeTarget
	number   int
	times    uint32 // that it was attached
	uprobes  Uprobes
}

// Resumes prepares a probe of the source's worker. Its snapshots are of the kind Ran.
func (s *Source) Resumes(t ResumeTarget) (*ResumeProbe, error) {
	if err := MayReturn(t.PID); err != nil {
		return nil, err
	}
	r, err := s.session.loadResuming()
	if err != nil {
		return nil, err
	}
	const bits = 8 // of a byte
	at := resumeResumer{Mask: 1<<(bits*t.PhaseSize) - 1}
	err = r.objects.Resumers.Put(uint32(s.number), &at)
	return r.probe(t, s.number), Explain("describe the worker", err)
}

func (r *resuming) probe(t ResumeTarget, number int) *ResumeProbe {
	return &ResumeProbe{resuming: r, target: t, number: number, uprobes: Uprobes{PID: t.PID, File: t.Program, What: "resumes"}}
}

// Attach begins to time. A resume or a wait counts where its beginning and its end fall into the same attachment.
func (p *ResumeProbe) Attach() error {
	p.times++
	o := p.resuming.objects
	sites := make([]Site, 0, 2*len(p.target.Functions))
	for _, returns := range []bool{true, false} {
		for _, f := range p.target.Functions {
			const phaseAt, givenAt, timesAt = 16, 24, 32 // as in resume.h
			site := Site{Program: o.Enters, Offset: f.Offset, Returns: returns}
			if returns {
				site.Program = o.Leaves
			}
			site.Cookie = uint64(p.number) | uint64(f.Phase)<<phaseAt | uint64(f.Given)<<givenAt | uint64(p.times)<<timesAt
			sites = append(sites, site)
		}
	}
	return p.uprobes.Attach(sites...)
}

// Detach ends what Attach began; the times stay.
func (p *ResumeProbe) Detach() { p.uprobes.Detach() }

// Each is what probing a resume costs the worker: see trapCost.
func (p *ResumeProbe) Each() time.Duration { return p.resuming.each }

// Cost reads what it has taken to know.
func (p *ResumeProbe) Cost() (ResumeCost, error) {
	var r resumeResumer
	err := p.resuming.objects.Resumers.Lookup(uint32(p.number), &r)
	return ResumeCost{r.Traps, time.Duration(r.Looks), r.Lost}, Explain("read the cost of the probe", err)
}

// Read returns the times of each phase that Lua ran in.
func (p *ResumeProbe) Read() ([]PhaseResumes, error) {
	var all []PhaseResumes
	var key resumePhase
	var r resumeResumed
	phases := p.resuming.objects.Phases.Iterate()
	for phases.Next(&key, &r) {
		if key.Worker != uint32(p.number) {
			continue
		}
		own, whole, waits := &r.Own, &r.Whole, &r.Waits
		all = append(all, PhaseResumes{
			Phase: key.Context,
			Own:   DurationsOf(own.Sum, own.Least, own.Longest, own.Counts[:]),
			Whole: DurationsOf(whole.Sum, whole.Least, whole.Longest, whole.Counts[:]),
			Waits: DurationsOf(waits.Sum, waits.Least, waits.Longest, waits.Counts[:]),
			Began: int(r.Fresh), Queued: time.Duration(r.Queued),
		})
	}
	if err := phases.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return nil, Explain("read the times of resumes", err)
	}
	return all, nil
}
