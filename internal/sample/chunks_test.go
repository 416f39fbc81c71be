package sample

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/heap/heaptest"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// TestHostileChunkNames: Lua of a real worker chooses names for its chunks, and moonlap, as root, reads what it takes for their
// source to name functions. It reads plain files of the worker's own root, and nothing else: no pipe is opened, no device, and
// nothing that a magic link of /proc leads to.
func TestHostileChunkNames(t *testing.T) {
	pid, client := nginxWith(t, "", `location = /chunk { content_by_lua_block {
		local name, text = ngx.unescape_uri(ngx.var.args), "return function() end"
		local kept = package.loaded.hostile or {}
		package.loaded.hostile = kept
		kept[#kept + 1] = assert(loadstring(text, name))()
	} }`)
	w := open(t, pid)
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	err := errors.Join(
		os.WriteFile(in("plain.lua"), []byte("local function leaked() end\n"), 0o600),
		os.Symlink("plain.lua", in("link.lua")),
		os.Symlink("/proc/self/root"+in("plain.lua"), in("magic.lua")),
		os.Symlink("/dev/zero", in("zero.lua")),
		syscall.Mkfifo(in("pipe.lua"), 0o600),
		os.Mkdir(in("folder.lua"), 0o700),
	)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() { // returns as soon as anybody opens the pipe
		f, err := os.OpenFile(in("pipe.lua"), os.O_WRONLY, 0)
		if err == nil {
			f.Close()
		}
		opened <- err
	}()
	read := []string{in("plain.lua"), in("link.lua")}
	refused := []string{
		in("magic.lua"), in("zero.lua"), in("pipe.lua"), in("folder.lua"), "/dev/zero", "/dev/stdin", "/proc/kmsg", "/proc/self/environ",
		"/proc/self/root" + in("plain.lua"), fmt.Sprintf("/proc/%d/root%s", os.Getpid(), in("plain.lua")),
		fmt.Sprintf("/proc/%d/cwd/../../../../../../../../..%s", pid, in("plain.lua")), "/proc/self/fd/0", strings.Repeat("/x", 3000),
	}
	for _, name := range append(read, refused...) {
		nginxtest.Get(t, client, "/chunk?@"+name)
	}
	h := heaptest.Take(t, w.Worker)
	found := map[string]bool{}
	for _, inner := range heaptest.Find(h.Holders, "", "hostile table").Inner {
		if _, name, ok := strings.Cut(inner.Name, " function "); ok {
			found[name] = true
		}
	}
	want := map[string]bool{"leaked@plain.lua:1": true, "leaked@link.lua:1": true, "@…:1": true}
	for _, file := range refused[:len(refused)-1] {
		want["@"+filepath.Base(file)+":1"] = true
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Errorf("functions are named (-want +got):\n%s", d)
	}
	select {
	case err := <-opened:
		t.Errorf("the pipe was opened: %v", err)
	case <-time.After(10 * time.Millisecond):
		f, err := os.OpenFile(in("pipe.lua"), os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may end now
		if err != nil {
			t.Fatal(err)
		}
		<-opened
		f.Close()
	}
}
