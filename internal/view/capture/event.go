package capture

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
)

// An event is a condition that was met. Times are since the machine started.
type event struct {
	Condition Condition
	From, To  time.Duration
	Open      bool             // it had not ended at the last sample
	Amount    float64          // that was reached: ns, bytes, a share
	Base      float64          // of growth: the bytes that it began with
	Turn      uint64           // of a held loop, and of a sleep: nginx's clock in the turn; 0: not known
	Stall     *sample.Stall    // of a turn that has ended: what became of it
	Request   *ngxlua.InFlight // of a request
	End       *process.End     // of a worker that has ended
}

// Text is what happened, in words.
func (e event) Text() string {
	length := time.Duration(e.Amount).Round(time.Millisecond)
	onwards := ui.When(e.Open, ", and went on")
	switch e.Condition.What {
	case Turn:
		return fmt.Sprintf("a turn of the event loop took %v%s", length, onwards)
	case Held:
		return fmt.Sprintf("Lua held the event loop for at least %v%s", length, onwards)
	case Sleep:
		return fmt.Sprintf("the worker was put to sleep for %v%s", length, onwards)
	case Request:
		return fmt.Sprintf("a request was in flight for %v", length)
	case CPU:
		return fmt.Sprintf("the worker used %.0f %% of a processor for %v", 100*e.Amount, e.Condition.For)
	case GC:
		return fmt.Sprintf("Lua's garbage collector used %.0f %% of a processor for %v", 100*e.Amount, e.Condition.For)
	case Heap:
		return fmt.Sprintf("Lua's heap reached %s", ui.Glyphs{}.Size(e.Amount))
	case Growth:
		return fmt.Sprintf("Lua's heap grew by %.0f %%, from %s to %s", 100*e.Amount, ui.Glyphs{}.Size(e.Base), ui.Glyphs{}.Size(e.Base*(1+e.Amount)))
	}
	return "the worker " + e.End.String()
}
