package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

const hz = 100 // samples a second

// Worker samples a worker for a while, each of which stops it for a pause at most, and explains what it does. With an error there may
// be what was seen up to then; nil: nothing was.
func Worker(ctx context.Context, pid int, duration, pause time.Duration, tick func(elapsed time.Duration)) (*profile.Profile, error) {
	w, err := worker.Open(pid)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	stopping := sample.Of(w)
	stopping.Hold = pause
	series, err := stopping.Poll(ctx, duration, hz, tick)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("worker %d: %w", pid, err)
		if errors.Is(err, process.ErrLeftOut) {
			err = fmt.Errorf("%w: --pause %v is too short", err, pause)
		}
	}
	if len(series.Samples) == 0 {
		return nil, err
	}
	p := Explain(series)
	if err == nil {
		serves(p, w)
	} else {
		p.Error = err.Error()
	}
	return about(p, w), err
}

// Core explains what the process of a core file did; root has its program and libraries, as they were in /.
func Core(file, root string) (*profile.Profile, error) {
	w, err := worker.OpenCore(file, root)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	s, err := sample.Of(w).Sample()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p := core(file, w.Core.Signal, s)
	serves(p, w)
	return about(p, w), nil
}

func about(p *profile.Profile, w *worker.Worker) *profile.Profile {
	p.Title, p.PIDs, p.LuaJIT = fmt.Sprintf("worker %d", w.PID), []int{w.PID}, w.VM.Library
	return p
}
