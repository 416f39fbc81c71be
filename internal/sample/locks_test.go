package sample

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
)

// TestLocks: a worker that waits for the lock of a dictionary is seen to, whether it tries again and again or sleeps.
func TestLocks(t *testing.T) {
	pid, client := nginxWith(t, "lua_shared_dict cats 1m; lua_shared_dict dogs 1m;", "")
	w := open(t, pid)
	zones, err := w.Nginx.Zones()
	if err != nil {
		t.Fatal(err)
	}
	// Nobody has this process ID, so nobody gives the lock back: it is the first word of a zone (ngx_slab_pool_t).
	const nobody = 1 << 30
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_WRONLY, 0)
	if os.IsPermission(err) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for _, z := range zones {
		if z.Name == "dogs" {
			if _, err := memory.WriteAt(binary.LittleEndian.AppendUint64(nil, nobody), int64(z.Start)); err != nil {
				t.Fatal(err)
			}
		}
	}
	go func() { // it never answers
		if res, err := client.Get("http://worker/dogs"); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	var last Sample
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		s, err := w.Sample()
		if err != nil {
			continue
		}
		if last = s; s.Lock == "dogs" && s.Asleep && s.Request.URI == "/dogs" && has(s.Stack, []string{"ngx_shmtx_lock", "main chunk:136", "main"}) {
			return
		}
	}
	t.Errorf("not in 20 s; the last sample waits for %q: %v", last.Lock, describe(last.Stack))
}

func TestLockOf(t *testing.T) {
	code := make([]byte, 100)
	copy(code[90:], []byte{0x5b, 0x41, 0x5c, 0xc3, 0x5b, 0x90}) // pop rbx, pop r12, ret; pop rbx, nop
	k := locks{wait: process.Interval{From: 100, To: 200}, code: code, zones: []ngx.Zone{{Name: "cats", Start: 1000, Size: 100}, {Name: "dogs", Start: 2000, Size: 100}}}
	other := process.Registers{RIP: 50, RBX: 1000}
	for _, c := range []struct {
		want   string
		frames []process.Registers
	}{
		{"", []process.Registers{other, other}},
		{"cats", []process.Registers{other, {RIP: 150, RBX: 1099, RBP: 2000}}},
		{"dogs", []process.Registers{{RIP: 100, R12: 2000}, {RIP: 150, RBX: 1000}}},
		{ngx.OtherLock, []process.Registers{{RIP: 199, RBX: 1100}}},
		// Before it has kept its argument, and after it has restored what it kept it in.
		{"cats", []process.Registers{{RIP: 100, RDI: 1050}}},
		{ngx.OtherLock, []process.Registers{other, {RIP: 150, RDI: 1050}}}, // the innermost function's
		// It has the lock.
		{"", []process.Registers{{RIP: 190}}},
		{"", []process.Registers{{RIP: 193}}},
		{"cats", []process.Registers{{RIP: 193, RDI: 1050}}},
		{ngx.OtherLock, []process.Registers{other, {RIP: 190}}},
		{ngx.OtherLock, []process.Registers{{RIP: 194}}},
	} {
		if got := k.of(c.frames); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
