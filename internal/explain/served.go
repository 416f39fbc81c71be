package explain

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/worker"
)

// Served is what a worker of nginx has begun and not finished, after the looks: requests, with the light threads of each,
// and timers.
type Served struct {
	Requests []worker.InFlight `json:"requests"`
	Timers   *worker.LuaTimers `json:"timers"` // nil: not known
	Unknown  []string          `json:"unknown,omitempty"`
}

// Serves reads what the worker serves; nil where it is no nginx. It is not stopped.
func Serves(w *worker.Worker) *Served {
	if w.Nginx == nil {
		return nil
	}
	var s Served
	requests, err := w.InFlight()
	if s.Requests = requests; err != nil {
		s.Unknown = append(s.Unknown, fmt.Sprintf("requests in flight: %v", err))
	}
	timers, err := w.LuaTimers()
	if err != nil {
		s.Unknown = append(s.Unknown, fmt.Sprintf("timers: %v", err))
		return &s
	}
	timers.Count(requests)
	s.Timers = &timers
	return &s
}
