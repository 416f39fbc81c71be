// Package workertest opens workers for the tests of other rooms.
package workertest

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker"
)

// Testdata is what App serves, and beside it what other tests do; wherever the room of a test is.
var Testdata = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "testdata")
}()

// App starts an nginx whose worker serves app.lua of Testdata, beside what a configuration has, and returns the worker's process
// ID and a client. Without nginx the test is skipped, unless MOONLAP_TEST_REQUIRE_ALL is set.
func App(t *testing.T, c nginxtest.Conf) (pid int, client *http.Client) {
	t.Helper()
	c.Dir = Testdata
	c.Server += ` location / { content_by_lua_block {
		package.loaded.app = package.loaded.app or assert(loadfile("app.lua"))
		package.loaded.app()
	} }`
	return nginxtest.Start(t, c)
}

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
func Await(t testing.TB, pid int) *worker.Worker {
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
func forbidden(t testing.TB, err error) {
	if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
}
