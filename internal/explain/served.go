package explain

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/worker"
)

// Serves adds what a worker of nginx has begun and not finished, after the samples: requests and timers. It is not stopped.
func (e *Explanation) Serves(w *worker.Worker) {
	if w.Nginx == nil {
		return
	}
	inFlight, err := w.InFlight()
	e.Evidence[requests.Name] = requests.Of(w.PID, inFlight, len(inFlight))
	e.unknown("requests in flight", err)
	set, err := timers.Of(w, inFlight)
	evidence.Put(e.Evidence, timers.Name, set)
	e.unknown("timers", err)
}

func (e *Explanation) unknown(what string, err error) {
	if err != nil {
		e.Unknown = append(e.Unknown, fmt.Sprintf("%s: %v", what, err))
	}
}
