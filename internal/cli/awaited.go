package cli

import (
	"context"
	"sync/atomic"
	"time"
)

// awaited does a work that can neither be interrupted nor tell how far it is, and shows on stderr what
// is being done. Should ctx end first, the work is left to itself and nothing of it is used.
func awaited[T any](ctx context.Context, sys Sys, what string, work func() (T, error)) (T, error) {
	return awaitedSteps(ctx, sys, what, func(func(string)) (T, error) { return work() })
}

// awaitedSteps is awaited for work that tells which of its steps it is at.
func awaitedSteps[T any](ctx context.Context, sys Sys, what string, work func(step func(string)) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	var at atomic.Pointer[string]
	go func() {
		value, err := work(func(step string) { at.Store(&step) })
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
		case <-ticks.C:
			text := what
			if step := at.Load(); step != nil {
				text += ": " + *step
			}
			line.Update(text, sys.Now().Sub(begun), 0)
		}
	}
}
