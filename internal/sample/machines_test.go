package sample

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/heap"
	"github.com/moonlap/moonlap/internal/heap/heaptest"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// TestTwoMachines: Lua of the http and of the stream block, each in a machine of its own, are told apart in samples of
// both kinds, in samples and in the heap.
func TestTwoMachines(t *testing.T) {
	found, err := runtime.Find(t.Context(), runtime.Nginx, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		t.Skip(err)
	}
	says, _ := exec.Command(found.Path, "-V").CombinedOutput()
	if !strings.Contains(string(says), "stream-lua-nginx-module") && !strings.Contains(string(says), "ngx_stream_lua") {
		t.Skip("this nginx has no Lua for streams: make test-builds with one that has")
	}
	folder := t.TempDir()
	socket := filepath.Join(folder, "stream")
	for _, name := range []string{"web", "session"} {
		code := fmt.Sprintf(`if not package.loaded.kept_%[1]s then
    local kept = {}
    package.loaded.kept_%[1]s = kept
    for i = 1, 1000 do kept[i] = "%[1]s " .. i end
end
local function %[1]s(n)
    local x = 0
    for i = 1, n do x = (x * 31 + i) %% 1000003 end
    return x
end
ngx.say(%[1]s(5e6))`, name)
		if err := os.WriteFile(filepath.Join(folder, name+".lua"), []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o755); err != nil { // a worker may be another user
		t.Fatal(err)
	}
	pid, client := workertest.App(t, nginxtest.Conf{
		Main:   fmt.Sprintf("stream { server { listen unix:%s; content_by_lua_file %s/session.lua; } }", socket, folder),
		Server: fmt.Sprintf("location = /web { content_by_lua_file %s/web.lua; }", folder),
	})
	w := open(t, pid)
	if all := w.Machines(); len(all) != 2 || all[0].Name != "http" || all[1].Name != "stream" || all[0].VM.Global == all[1].VM.Global {
		t.Fatalf("%+v", all)
	}
	stop := make(chan bool)
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if c, err := net.Dial("unix", socket); err == nil {
				io.Copy(io.Discard, c)
				c.Close()
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	defer nginxtest.Request(t, client, "/web")()
	s := sampler(t)
	for how, look := range map[string]func() (Series, error){
		"stopped":      func() (Series, error) { return w.Poll(t.Context(), 300*time.Millisecond, 200, noTick) },
		"through eBPF": func() (Series, error) { return w.Ticks(t.Context(), s, 300*time.Millisecond, 500, noTick) },
	} {
		const enough = 5
		seen := map[string]int{}
		for end := time.Now().Add(30 * time.Second); min(seen["http"], seen["stream"]) < enough && time.Now().Before(end); {
			looks, err := look()
			if err != nil {
				t.Fatal(err)
			}
			if looks.Failed > 2+len(looks.Samples)/10 {
				t.Errorf("%s: %d of %d failed: %v", how, looks.Failed, looks.Failed+len(looks.Samples), looks.LastErr)
			}
			for _, x := range looks.Samples {
				for function, machine := range map[string]string{"session": "stream", "web": "http"} {
					if !slices.ContainsFunc(x.Stack, func(f profile.Frame) bool { return f.Function == function }) {
						continue
					}
					seen[machine]++
					if web := machine == "http"; x.Machine != machine || x.Phase != "content" || web != (x.Request.URI == "/web") {
						t.Fatalf("%s: Lua of %s is taken for that of %q, phase %q, request %q", how, machine, x.Machine, x.Phase, x.Request.URI)
					}
				}
			}
		}
		if min(seen["http"], seen["stream"]) < enough {
			t.Errorf("%s: seen %v", how, seen)
		}
	}
	heaps, err := heap.Take(w.Worker, heap.Options{Pause: heaptest.Patient})
	if err != nil || len(heaps) != 2 {
		t.Fatalf("%d heaps, %v", len(heaps), err)
	}
	for i, kept := range []string{"kept_web", "kept_session"} {
		h := heaps[i]
		if !keeps(h.Holders, kept, 1000) || keeps(heaps[1-i].Holders, kept, 1) {
			t.Errorf("%s does not hold %s alone", h.Machine, kept)
		}
		if h.Machine != w.Machines()[i].Name || h.Total == 0 {
			t.Errorf("%s: %d bytes", h.Machine, h.Total)
		}
	}
	sum := (&heap.Snapshot{Heaps: heaps}).Holders()
	if sum.HeldBytes != heaps[0].Holders.HeldBytes+heaps[1].Holders.HeldBytes || len(sum.Inner) != 2 {
		t.Errorf("together %d bytes in %d machines", sum.HeldBytes, len(sum.Inner))
	}
}

// keeps reports whether a holder of that name holds N objects.
func keeps(h *heap.Holder, name string, count int64) bool {
	return strings.Contains(h.Name, name) && h.HeldCount >= count ||
		slices.ContainsFunc(h.Inner, func(i *heap.Holder) bool { return keeps(i, name, count) })
}
