package sample

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/probe/probetest"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// sampler loads the programs for the kernel, or skips the test where that is not allowed.
func sampler(t *testing.T) *Sampler {
	t.Helper()
	probetest.Need(t)
	s, err := NewSampler()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func noTick(time.Duration) {}

// Ticks samples the worker at N ticks of its CPU time a second for a while.
func (w *Worker) Ticks(ctx context.Context, s *Sampler, duration time.Duration, hz float64, tick func(time.Duration)) (Series, error) {
	return w.Watch(ctx, s, duration, Wants{Hz: hz}, tick)
}

// Watch samples the worker for a while, and nothing besides.
func (w *Worker) Watch(ctx context.Context, s *Sampler, duration time.Duration, wants Wants, tick func(time.Duration)) (Series, error) {
	sampling, err := w.Sampling(s, wants)
	if err != nil {
		return Series{}, err
	}
	return sampling.Run(ctx, duration, tick, func() {})
}

// ticks samples the worker again and again until a sample is wanted.
func ticks(t *testing.T, w *Worker, s *Sampler, wanted func(Sample) bool) {
	t.Helper()
	var last string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		looks, err := w.Ticks(t.Context(), s, 200*time.Millisecond, 500, noTick)
		if err != nil {
			t.Fatal(err)
		}
		if looks.Failed > 2+len(looks.Samples)/10 {
			t.Errorf("%d of %d failed: %v", looks.Failed, looks.Failed+len(looks.Samples), looks.LastErr)
		}
		for _, sample := range looks.Samples {
			if wanted(sample) {
				return
			}
			if sample.Lua {
				last = fmt.Sprintf("%v %v", sample.State, describe(sample.Stack))
			}
		}
	}
	t.Errorf("no such sample in 30 s; the last one with Lua was\n%s", last)
}

// TestTicksScenes: samples of the kernel have the stacks that looks at a worker which is stopped have.
func TestTicksScenes(t *testing.T) {
	s := sampler(t)
	pid, client := nginx(t)
	w := open(t, pid)
	for _, scene := range scenes {
		if scene.name == "blocked" {
			continue // it does not compute
		}
		t.Run(scene.name, func(t *testing.T) {
			defer nginxtest.Request(t, client, scene.path)()
			ticks(t, w, s, func(x Sample) bool {
				return x.State == scene.state && x.Partial == nil && x.Request.URI == scene.path && x.Request.Method == http.MethodGet &&
					!x.Asleep && has(x.Stack, scene.frames)
			})
		})
	}
	t.Run("deep", func(t *testing.T) {
		defer nginxtest.Request(t, client, "/deep")()
		ticks(t, w, s, func(x Sample) bool {
			return x.Partial == nil && has(x.Stack, []string{"slow:22", "deep:62", luajit.LeftOut, "ngx_http_lua_run_thread", "main"})
		})
	})
	t.Run("kernel", func(t *testing.T) {
		if s.Hidden != nil {
			t.Skip(s.Hidden)
		}
		defer nginxtest.Request(t, client, "/none")()
		ticks(t, w, s, func(x Sample) bool {
			return len(x.Stack) > 0 && x.Stack[0].Kind == profile.Kernel && x.Stack[0].Function != "" && has(x.Stack, []string{"main"})
		})
	})
}

// TestTicksFirst: looks at a request that was there before them know it from the first one on.
func TestTicksFirst(t *testing.T) {
	s := sampler(t)
	pid, client := nginx(t)
	defer nginxtest.Request(t, client, "/compiled")()
	nginxtest.Await(t, "whether all looks know the request", true, func() (bool, error) {
		w := open(t, pid)
		looks, err := w.Ticks(t.Context(), s, 200*time.Millisecond, 500, noTick)
		known, unknown := 0, 0
		for _, x := range looks.Samples {
			switch {
			case x.Lua && x.Request.URI != "":
				known++
			case x.Lua: // it began between two requests
				unknown++
			}
		}
		return known > 0 && unknown == 0, err
	})
}

// TestHidden: where the kernel does not tell its functions, one frame stands for them.
func TestHidden(t *testing.T) {
	s := &Sampler{Hidden: probe.ErrHidden}
	want := []profile.Frame{{Kind: profile.Kernel, Function: hidden, File: "kernel"}}
	if got := s.frames([]uint64{1 << 63, 1<<63 + 1}); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := s.frames(nil); got != nil {
		t.Errorf("outside of the kernel: %+v", got)
	}
}

// TestTicks: two samplers at once; a worker that is interrupted, and one that is killed.
func TestTicks(t *testing.T) {
	s, other := sampler(t), sampler(t)
	pid, client := nginx(t)
	w, again := open(t, pid), open(t, pid)
	defer nginxtest.Request(t, client, "/compiled")()
	second := make(chan Series)
	go func() {
		looks, _ := again.Ticks(t.Context(), other, 2*time.Second, 200, noTick)
		second <- looks
	}()
	ticks(t, w, s, func(x Sample) bool { return x.Lua })
	if looks := <-second; len(looks.Samples) == 0 || looks.Every != 5*time.Millisecond || looks.Used == 0 {
		t.Errorf("the second one: %d samples each %v, %v used", len(looks.Samples), looks.Every, looks.Used)
	}
	ctx, end := context.WithCancel(t.Context())
	_, err := w.Ticks(ctx, s, time.Minute, 200, func(time.Duration) { end() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	p, _ := os.FindProcess(pid)
	looks, err := w.Ticks(t.Context(), s, time.Minute, 200, func(time.Duration) { p.Kill() })
	if err == nil || !strings.Contains(err.Error(), "it has ended after") || looks.Elapsed == 0 {
		t.Errorf("killed: %v after %v", err, looks.Elapsed)
	}
	if _, err := w.Ticks(t.Context(), s, time.Minute, 200, noTick); err == nil {
		t.Error("a worker that has ended was sampled")
	}
}
