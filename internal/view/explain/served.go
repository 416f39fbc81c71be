package explain

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/worker"
)

// serves adds to what is known of a worker of nginx what it has begun and not finished, after the samples: requests and timers.
// It is not stopped.
func serves(p *profile.Profile, w *worker.Worker) {
	if w.Nginx == nil {
		return
	}
	inFlight, err := w.InFlight()
	p.Evidence[requests.Name] = requests.Of(w.PID, inFlight, len(inFlight))
	unknown(p, "requests in flight", err)
	set, err := timers.Of(w, inFlight)
	evidence.Put(p.Evidence, timers.Name, set)
	unknown(p, "timers", err)
}

func unknown(p *profile.Profile, what string, err error) {
	if err != nil {
		p.Unknown = append(p.Unknown, fmt.Sprintf("%s: %v", what, err))
	}
}
