package sample

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
	"golang.org/x/sys/unix"
)

// blocking starts an nginx that serves testdata/blocks.lua under /blocks/.
func blocking(t *testing.T) (pid int, client *http.Client) {
	return nginxWith(t, "", `location /blocks/ { content_by_lua_block {
		package.loaded.blocks = package.loaded.blocks or assert(loadfile("blocks.lua"))
		package.loaded.blocks()
	} }`)
}

// TestSleepsForDisk: a file that is written through, one that is read when it is not in memory, and one that is mapped then.
func TestSleepsForDisk(t *testing.T) {
	s := sampler(t)
	file := "file=" + onDisk(t)
	pid, client := blocking(t)
	w := open(t, pid)
	for _, b := range []block{
		{"/blocks/fsync", "fsync", Disk, 0, []string{"fsync", "main chunk:24", "ngx_http_lua_run_thread", "main"}},
		{"/blocks/disk", "read", Disk, 0, []string{"file:read", "main chunk:41", "ngx_http_lua_run_thread", "main"}},
		{"/blocks/fault", "page fault", Fault, 0, []string{"touch:28", "ngx_http_lua_run_thread", "main"}},
	} {
		t.Run(b.call, func(t *testing.T) {
			defer nginxtest.Request(t, client, b.path, file)()
			b.find(t, w, s)
		})
	}
}

// onDisk makes a file where writing through to it puts a thread to sleep, or skips the test: in memory it does not.
func onDisk(t *testing.T) string {
	t.Helper()
	here, err := os.MkdirTemp(workertest.Testdata, ".disk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(here) })
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, folder := range []string{t.TempDir(), here} {
		name, err := filepath.Abs(filepath.Join(folder, "file"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(make([]byte, 1<<20))
		var before, after unix.Rusage
		for _, step := range []func() error{
			func() error { return err },
			func() error { return unix.Getrusage(unix.RUSAGE_THREAD, &before) },
			func() error { return unix.Fsync(int(f.Fd())) },
			func() error { return unix.Getrusage(unix.RUSAGE_THREAD, &after) },
			f.Close,
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if after.Nvcsw > before.Nvcsw {
			return name
		}
	}
	t.Skip("fsync does not sleep here: set TMPDIR to a folder on a disk")
	return ""
}

// TestSleepsForOthers: a server that answers late, to LuaSocket, and a mutex that another thread has.
func TestSleepsForOthers(t *testing.T) {
	s := sampler(t)
	pid, client := blocking(t)
	w := open(t, pid)
	t.Run("futex", func(t *testing.T) {
		defer nginxtest.Request(t, client, "/blocks/futex")()
		block{"/blocks/futex", "futex", Lock, 10 * time.Millisecond, []string{"main chunk:51", "ngx_http_lua_run_thread", "main"}}.find(t, w, s)
	})
	t.Run("luasocket", func(t *testing.T) {
		const late = 20 * time.Millisecond
		port := fmt.Sprintf("port=%d", slowServer(t, late))
		res, err := client.Get("http://worker/blocks/luasocket?" + port)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			message := "no LuaSocket, or it does not work: run script/bootstrap test"
			if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
				t.Fatal(message)
			}
			t.Skip(message)
		}
		defer nginxtest.Request(t, client, "/blocks/luasocket", port)()
		block{"/blocks/luasocket", "poll", Network, late, []string{"main chunk:18", "ngx_http_lua_run_thread", "main"}}.find(t, w, s)
	})
}

// slowServer answers each line of anybody's after a while, and returns its port.
func slowServer(t *testing.T, after time.Duration) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			go func() {
				defer c.Close()
				time.Sleep(after)
				fmt.Fprintln(c, "late")
				bufio.NewReader(c).ReadString('\n') // until it is closed
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}
