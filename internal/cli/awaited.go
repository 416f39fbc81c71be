package cli

import (
	"context"
	"time"
)

// awaited does a work that can neither be interrupted nor tell how far it is, and shows on stderr what
// is being done. Should ctx end first, the work is left to itself and nothing of it is used.
func awaited[T any](ctx context.Context, sys Sys, what string, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := work()
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
			line.Update(what, sys.Now().Sub(begun), 0)
		}
	}
}
