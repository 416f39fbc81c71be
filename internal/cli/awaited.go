package cli

import (
	"context"
	"sync/atomic"
	"time"
)

// awaited does a work that can neither be interrupted nor tell how far it is, and shows on stderr what
// is being done. Should ctx end first, the work is left to itself and nothing of it is used.
func awaited[T any](ctx context.Context, sys Sys, what string, work func() (T, error)) (T, error) {
	return awaitedSteps(ctx, sys, what, func(*steps) (T, error) { return work() })
}

// steps are what a work tells of itself: which step it is at, and what is worth knowing beyond.
type steps struct {
	at    atomic.Pointer[string]
	notes chan string
	ended <-chan struct{} // nobody reads them any more
}

func (s *steps) step(what string) { s.at.Store(&what) }
func (s *steps) note(text string) {
	select {
	case s.notes <- text:
	case <-s.ended:
	}
}

// awaitedSteps is awaited for work that tells which of its steps it is at.
func awaitedSteps[T any](ctx context.Context, sys Sys, what string, work func(*steps) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	at := &steps{notes: make(chan string), ended: ctx.Done()}
	go func() {
		value, err := work(at)
		done <- result{value, err}
	}()
	line, begun := newProgress(sys), sys.Now()
	defer line.Clear()
	ticks := time.NewTicker(redrawEvery)
	defer ticks.Stop()
	for {
		select {
		case r := <-done:
			return r.value, r.err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		case text := <-at.notes:
			line.Clear()
			note(sys, text)
		case <-ticks.C:
			text := what
			if step := at.at.Load(); step != nil {
				text += ": " + *step
			}
			line.Update(text, sys.Now().Sub(begun), 0)
		}
	}
}
