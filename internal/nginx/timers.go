package nginx

import (
	"cmp"
	"slices"
	"time"
)

// A Timer is an event that nginx waits for the time of: a timeout of a connection, a sleep, a timer
// of Lua's.
type Timer struct {
	Data uint64        // what the event is about
	Due  time.Duration // from now on; below 0: overdue
}

const (
	nodeKey     = 0x00 // of ngx_rbtree_node_t
	nodeLeft    = 0x08
	nodeRight   = 0x10
	nodeParent  = 0x18
	nodeSize    = 0x28
	queueSize   = 0x10 // of ngx_queue_t, the last field of ngx_event_t, after the node
	mostTimers  = 1 << 17
	treeRoot    = 0x00 // of ngx_rbtree_t
	treeNothing = 0x08 // sentinel: what stands for no node
)

// Timers returns the events that wait for their time, the next one first. now is the time of
// CLOCK_MONOTONIC in milliseconds, which nginx's clock is too. The worker goes on meanwhile: a tree
// that changes under the walk is read again, and refused if it does so every time.
func (n *Nginx) Timers(now uint64) ([]Timer, error) {
	c, err := n.find()
	if err != nil {
		return nil, err
	}
	if n.Symbols.Timers == 0 {
		return nil, unknown("it does not export ngx_event_timer_rbtree", nil)
	}
	const tries = 5
	for range tries {
		var timers []Timer
		if timers, err = n.timers(c, now); err == nil {
			slices.SortStableFunc(timers, func(a, b Timer) int { return cmp.Compare(a.Due, b.Due) })
			return timers, nil
		}
	}
	return nil, err
}

func (n *Nginx) timers(c connections, now uint64) ([]Timer, error) {
	r := n.reader()
	root, nothing := r.U64(n.Symbols.Timers+treeRoot), r.U64(n.Symbols.Timers+treeNothing)
	type link struct{ node, parent uint64 }
	left := []link{{root, 0}}
	var timers []Timer
	for len(left) > 0 {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		if at.node == nothing {
			continue
		}
		b := r.Bytes(at.node, nodeSize)
		if r.Err != nil {
			return nil, r.Err
		}
		if at.parent != 0 && le64(b[nodeParent:]) != at.parent || len(timers) == mostTimers {
			return nil, unknown("its timers are no tree", nil)
		}
		event := at.node + nodeSize + queueSize - c.eventSize
		timers = append(timers, Timer{
			Data: r.U64(event),
			Due:  time.Duration(int64(le64(b[nodeKey:])-now)) * time.Millisecond,
		})
		left = append(left, link{le64(b[nodeLeft:]), at.node}, link{le64(b[nodeRight:]), at.node})
	}
	return timers, r.Err
}
