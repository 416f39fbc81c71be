package load

import (
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// A Joint follows the records of machines that make one load together, while they come in: when all can begin, and when all
// that is compared is decided. Its methods may be called by several goroutines.
type Joint struct {
	mu       sync.Mutex
	machines []partner
	start    chan struct{}
	enough   chan struct{}
	started  bool
	ended    bool
	judges   *judges
}

// A partner is one of the machines.
type partner struct {
	record  record.Record // as far as it says what is run
	threads int           // that are connected
	gone    bool
	began   time.Time
}

// NewJoint awaits records of N machines.
func NewJoint(machines int) *Joint {
	return &Joint{machines: make([]partner, machines), start: make(chan struct{}), enough: make(chan struct{})}
}

// Start is closed when all machines can begin, or are gone.
func (j *Joint) Start() <-chan struct{} { return j.start }

// Enough is closed when all is decided over all machines, or one is gone in the midst of the load.
func (j *Joint) Enough() <-chan struct{} { return j.enough }

// Add takes the next line of a machine's record, which came at a time.
func (j *Joint) Add(machine int, l record.Line, at time.Time) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := &j.machines[machine]
	switch l := l.(type) {
	case record.Run, record.Runtime, record.Case, record.Load:
		return m.record.Add(l)
	case record.LoadThread:
		m.threads++
		j.begin()
	case record.LoadBegin:
		m.began = at
	case record.LoadSlice:
		if !j.started || l.Thread < 0 {
			break
		}
		l.Yardsticks, l.ServerCPUNS = nil, nil // as [Join] has it
		if j.judges.add(l); j.judges.decided() {
			j.end()
		}
	}
	return nil
}

// Ended says that nothing more comes from a machine.
func (j *Joint) Ended(machine int, whole bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := &j.machines[machine]
	m.gone = true
	if j.started && !whole && !m.began.IsZero() {
		j.end()
	}
	j.begin()
}

// begin starts the load where nobody is awaited any more.
func (j *Joint) begin() {
	var plan *record.Load
	var first *partner
	count := 0
	for i := range j.machines {
		switch m := &j.machines[i]; {
		case m.gone:
		case m.record.Load.Plan == nil || m.threads < m.record.Load.Plan.Threads:
			return
		default:
			first, plan = m, m.record.Load.Plan
			count++
		}
	}
	if j.started || first == nil {
		return
	}
	together := *plan
	together.Machines, together.ServerPIDs = count, nil
	rec := first.record
	rec.Load.Plan = &together
	j.started, j.judges = true, newJudges(&rec)
	close(j.start)
}

func (j *Joint) end() {
	if !j.ended {
		j.ended = true
		close(j.enough)
	}
}

// Began is how long after the first machine one began; not known of one that never did.
func (j *Joint) Began(machine int) (after time.Duration, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	own := j.machines[machine].began
	for _, m := range j.machines {
		if !m.began.IsZero() {
			after = max(after, own.Sub(m.began))
		}
	}
	return after, !own.IsZero()
}
