package ngxlua

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/profile"
)

// A TimerGroup is the timers of Lua's that call the same function. One that grows from look to look is a leak.
type TimerGroup struct {
	Function profile.Frame  `json:"function"` // its line is that of its head
	Pending  int            `json:"pending"`
	Running  int            `json:"running"`           // called, and not returned yet
	Next     *time.Duration `json:"next_ns,omitempty"` // until the first one is due; below 0: overdue
	Last     *time.Duration `json:"last_ns,omitempty"` // until the last one is due
}

const mostRead = 20_000 // timers whose functions are looked up

// timerLayout is where a timer's record (ngx_http_lua_timer_ctx_t) has the module's configuration and the coroutine
// that is to begin.
type timerLayout struct {
	conf, coroutine uint64
	known           bool
}

// functions groups Lua's timers among nginx's by their function, the largest group first.
func (m *Module) functions(events []nginx.Timer, t *LuaTimers) {
	groups := map[profile.Frame]*TimerGroup{}
	for _, e := range events {
		if t.Unread == 0 || t.Pending-t.Unread >= mostRead {
			break
		}
		co, ok := m.timerCoroutine(e.Data)
		if !ok {
			continue
		}
		due := e.Due
		if t.Next == nil {
			t.Next = &due
		}
		f, err := m.VM.Entry(co)
		if err != nil {
			continue
		}
		t.Unread--
		named := m.Named(f)
		if t.NextFunction == nil && due == *t.Next {
			t.NextFunction = &named
		}
		g := groups[named]
		if g == nil {
			g = &TimerGroup{Function: named, Next: &due}
			groups[named] = g
		}
		g.Pending++
		g.Last = &due
	}
	for _, g := range groups {
		t.Functions = append(t.Functions, *g)
	}
	t.sort()
}

func (t *LuaTimers) sort() {
	slices.SortFunc(t.Functions, func(a, b TimerGroup) int {
		return cmp.Or(cmp.Compare(b.Pending+b.Running, a.Pending+a.Running), cmp.Compare(a.Function.File, b.Function.File),
			cmp.Compare(a.Function.Line, b.Function.Line), cmp.Compare(a.Function.Function, b.Function.Function))
	})
}

// Count counts timers that run, as far as they are among requests in flight and their functions are known.
func (t *LuaTimers) Count(running []InFlight) {
	for _, f := range running {
		if f.Timer == nil {
			continue
		}
		i := slices.IndexFunc(t.Functions, func(g TimerGroup) bool { return g.Function == *f.Timer })
		if i < 0 {
			i = len(t.Functions)
			t.Functions = append(t.Functions, TimerGroup{Function: *f.Timer})
		}
		t.Functions[i].Running++
	}
	t.sort()
}

// timerFunction is what a timer has called: the outermost function of its entry coroutine. frames are those of a
// coroutine that waits.
func (m *Module) timerFunction(request, co uint64, frames []luajit.Frame) *profile.Frame {
	context := m.context(m.Memory, request)
	if context == 0 || m.layout.entry == 0 {
		return nil
	}
	r := m.reader()
	if entry := r.U64(context + m.layout.entry); entry != co {
		var err error
		if frames, err = m.VM.Suspended(entry); err != nil || r.Err != nil {
			return nil
		}
	}
	for _, f := range slices.Backward(frames) {
		if f.Kind == luajit.Lua {
			f.Line = f.FirstLn
			named := m.Named(f)
			return &named
		}
	}
	return nil
}

// timerCoroutine returns the coroutine of a timer of Lua's. What such a timer's event is about knows
// the module's configuration and a coroutine that has not begun.
func (m *Module) timerCoroutine(data uint64) (coroutine uint64, ok bool) {
	r := m.reader()
	l := &m.timersAt
	if l.known {
		if r.U64(data+l.conf) != m.conf || r.Err != nil {
			return 0, false
		}
		co := r.U64(data + l.coroutine)
		return co, r.Err == nil && m.VM.Coroutine(co)
	}
	found := timerLayout{}
	for i := range uint64(timerWords) {
		word := r.U64(data + 8*i)
		if word == m.conf && !found.known {
			found.conf, found.known = 8*i, true
		}
		if coroutine == 0 && m.VM.Coroutine(word) {
			coroutine, found.coroutine = word, 8*i
		}
	}
	if coroutine == 0 || !found.known || r.Err != nil {
		return 0, false
	}
	*l = found
	return coroutine, true
}
