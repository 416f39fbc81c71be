package watch

import (
	"time"

	"github.com/moonlap/moonlap/internal/host"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/record"
)

// A Snapshot is what was seen of all watched workers over one interval.
type Snapshot struct {
	Schema  string `json:"schema"`
	Kind    string `json:"kind"`
	Head    `json:"head"`
	Workers []Row    `json:"workers"` // each with a head and evidence
	Masters []Master `json:"masters"`
}

// A Head is what is of all workers.
type Head struct {
	At time.Time `json:"at"` // the interval's end
	// Missing are the events that this machine does not count, with the reason.
	Missing map[process.Event]string `json:"events_missing,omitempty"`
	// Host is how fast the machine itself was; nil where there are no yardsticks.
	Host *Host `json:"host,omitempty"`
}

// A Host is the machine during an interval, as yardsticks tell: what slowed it comes from outside a virtual machine, or from other
// threads of its cores.
type Host struct {
	host.Speed
	Busy float64 `json:"busy"` // share of the time that this machine's own processors were in use
}

// Slowed is by how much the interval's work was slowed, on average.
func (h *Host) Slowed() float64 { return (1 - h.Quiet) * h.Slower }

// newSnapshot puts the rows of an interval together.
func newSnapshot(at time.Time, rows []Row, workers func(master int) ([]int, error)) Snapshot {
	s := Snapshot{Schema: record.Schema, Kind: "watch", Head: Head{At: at.UTC()}, Workers: rows, Masters: masters(rows, workers)}
	for _, r := range rows {
		for event, err := range r.moment.missing {
			if s.Missing == nil {
				s.Missing = map[process.Event]string{}
			}
			s.Missing[event] = err.Error()
		}
	}
	return s
}

// Seen is the number of workers that could be watched.
func (s Snapshot) Seen() int {
	n := 0
	for _, r := range s.Workers {
		if r.Error == "" {
			n++
		}
	}
	return n
}
