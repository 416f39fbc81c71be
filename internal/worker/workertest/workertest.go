// Package workertest opens workers for the tests of other rooms.
package workertest

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/probe/probetest"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// Open opens a worker, or skips the test where that is not allowed.
func Open(t *testing.T, pid int) *worker.Worker {
	t.Helper()
	w, err := worker.Open(pid)
	if err == nil {
		t.Cleanup(func() { w.Close() })
		_, err = w.Stopped(time.Second, func(process.Registers) error { return nil })
	}
	if err != nil {
		forbidden(t, err)
		t.Fatal(err)
	}
	return w
}

// Await opens a program as soon as its VM is there.
func Await(t *testing.T, pid int) *worker.Worker {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		w, err := worker.OpenProgram(pid)
		if err == nil {
			t.Cleanup(func() { w.Close() })
			return w
		}
		forbidden(t, err)
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// forbidden skips a test that this user may not run, unless MOONLAP_TEST_REQUIRE_ALL is set.
func forbidden(t *testing.T, err error) {
	if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
}

// Sampler loads the programs for the kernel, or skips the test where that is not allowed.
func Sampler(t *testing.T) *worker.Sampler {
	t.Helper()
	probetest.Need(t)
	s, err := worker.NewSampler()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
