package watch

import (
	"time"

	"github.com/moonlap/moonlap/internal/host"
)

// A hostWatch looks at the machine beside the workers.
type hostWatch struct {
	sampler *host.Sampler      // nil where there are no yardsticks
	known   map[string]float64 // the best ever seen, by kind in ns
	from    time.Time          // of the interval
	used    host.Usage
}

func (h *hostWatch) start(known map[string]float64) { h.sampler, h.known = host.Start(), known }

func (h *hostWatch) begin() { h.from, h.used = time.Now(), host.ReadUsage() }

// end is what the machine was like since begin; nil where too little was seen.
func (h *hostWatch) end() *Host {
	speed, ok := host.SpeedOf(h.sampler.Since(h.from), host.Best(h.sampler.Since(time.Time{}), h.known))
	if !ok {
		return nil
	}
	return &Host{Speed: speed, Busy: host.ReadUsage().Share(h.used)}
}
