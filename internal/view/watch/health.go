package watch

import (
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

// health follows what the compiler gave up. LuaJIT forgets why after 64 further aborts, so what was
// seen is kept.
type health struct {
	w       *worker.Worker
	vm      *luajit.VM
	reasons map[Abort]string // by the place alone
	list    luajit.Blacklist // as of the last search
	next    time.Time        // of a search
}

const (
	searchEvery = 10 * time.Second       // a search reads the whole heap
	searchFor   = 200 * time.Millisecond // at most
)

func (h *health) read() (*JIT, error) {
	state, err := h.vm.JIT()
	if err != nil {
		return nil, err
	}
	if h.reasons == nil {
		h.reasons = map[Abort]string{}
	}
	if now := time.Now(); now.After(h.next) {
		if list, err := h.vm.Blacklist(searchFor); err == nil {
			h.list, h.next = list, now.Add(searchEvery)
		}
	}
	j := &JIT{
		Root: state.Root, Side: state.Side, Code: state.Code, Area: state.Area, Aborts: []Abort{}, Blacklisted: []Abort{},
		Off: h.list.Off, Whole: h.list.Whole,
	}
	listed := map[Abort]bool{}
	for _, a := range state.Aborts {
		at := h.place(a.Place)
		h.reasons[at] = a.Reason
		if a.Blacklisted {
			listed[at] = true
			j.Blacklisted = append(j.Blacklisted, h.explained(at))
		} else {
			j.Aborts = append(j.Aborts, h.explained(at))
		}
	}
	for _, p := range h.list.Places {
		if at := h.place(p); !listed[at] {
			listed[at] = true
			j.Blacklisted = append(j.Blacklisted, h.explained(at))
		}
	}
	return j, nil
}

func (h *health) place(p luajit.Place) Abort {
	f := h.w.Named(p.Frame)
	return Abort{Function: f.Function, File: f.File, Line: f.Line, Loop: p.Loop}
}

func (h *health) explained(at Abort) Abort {
	at.Reason = h.reasons[at]
	return at
}
