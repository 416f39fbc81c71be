package ngxlua

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/profile"
)

// LuaTimers are the timers that Lua has set with nginx.timer.at and every.
type LuaTimers struct {
	Pending      int            `json:"pending"` // as nginx.timer.pending_count() says
	Running      int            `json:"running"`
	MostPending  int            `json:"most_pending"` // lua_max_pending_timers
	MostRunning  int            `json:"most_running"` // lua_max_running_timers
	Next         *time.Duration `json:"next_ns"`      // until the next one is due; none: not known
	NextFunction *profile.Frame `json:"next_function,omitempty"`
	Events       int            `json:"nginx_timers"` // timers of nginx's of all kinds: timeouts, sleeps, these
	Functions    []TimerGroup   `json:"functions"`    // that the timers call, the most timers first
	Unread       int            `json:"unread"`       // pending ones whose function was not found
}

const (
	confWords   = 0x20 // of ngx_http_lua_main_conf_t that are searched for the counts
	timerWords  = 0x10 // of ngx_http_lua_timer_ctx_t that are searched
	mostCounted = 1 << 31
)

var errTimers = fmt.Errorf("%w: the counts of Lua's timers were not found", nginx.ErrLayout)

// LuaTimers reads the timers that Lua has set.
func (m *Module) LuaTimers() (LuaTimers, error) {
	t, err := m.timerCounts()
	if err != nil {
		return t, err
	}
	now, err := nginx.Monotonic()
	if m.Still { // what was due when it was written
		now, err = m.Nginx.Clock()
	}
	if err != nil {
		return t, err
	}
	events, err := m.Nginx.Timers(now)
	if err != nil {
		return t, err
	}
	t.Events = len(events)
	t.Unread, t.Functions = t.Pending, []TimerGroup{}
	m.functions(events, &t)
	return t, nil
}

// timerCounts finds max_pending_timers, pending_timers, max_running_timers and running_timers in the
// Lua module's configuration: they stand behind the cycle and its pool, in some versions after a flag,
// and before a pointer, or none, to a connection.
func (m *Module) timerCounts() (t LuaTimers, err error) {
	r := m.reader()
	cycle := r.U64(m.Nginx.Symbols.Cycle)
	pool := r.U64(cycle + 8)
	var words [confWords]uint64
	for i := range words {
		words[i] = r.U64(m.conf + 8*uint64(i))
	}
	for i := 0; i+8 <= len(words) && r.Err == nil; i++ {
		if words[i] != cycle || words[i+1] != pool {
			continue
		}
		for flag := range 2 {
			c := words[i+2+flag:]
			if len(c) < 5 || c[0] == 0 || c[1] > c[0] || c[2] == 0 || c[3] > c[2] || max(c[0], c[2]) >= mostCounted ||
				c[4] != 0 && c[4] < mostCounted {
				continue
			}
			return LuaTimers{
				MostPending: int(c[0]), Pending: int(c[1]), MostRunning: int(c[2]), Running: int(c[3]),
			}, nil
		}
	}
	return t, errTimers
}
