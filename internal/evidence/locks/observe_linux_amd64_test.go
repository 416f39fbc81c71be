package locks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe/probetest"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker"
)

// holds has timers hold the lock of a dictionary for 20 ms again and again, and take another one:
// ngx_shm_zone_t has the address of its memory second; there, a pool ends with its lock, which points to the pool.
const holds = `
location = /hold { content_by_lua_block {
	local ffi = require("ffi")
	ffi.cdef("void ngx_shmtx_lock(void *); void ngx_shmtx_unlock(void *); int usleep(unsigned);")
	local zone = ffi.cast("uint64_t **", ngx.shared.cats[1])[0]
	local lock
	for _, offset in ipairs({96, 104}) do
		local at = ffi.cast("uint64_t *", zone[1] + offset)
		if at[0] == zone[1] then lock = ffi.cast("void *", at) end
	end
	assert(lock, "no lock")
	assert(ngx.timer.every(0.03, function()
		ffi.C.ngx_shmtx_lock(lock)
		ffi.C.usleep(20000)
		ffi.C.ngx_shmtx_unlock(lock)
		ngx.shared.dogs:incr("rex", 1, 0)
	end))
	ngx.say("holds")
} }`

var holding = nginxtest.Conf{HTTP: "lua_shared_dict cats 1m; lua_shared_dict dogs 1m;", Server: holds}

// observed prepares to time the locks of a worker.
func observed(t *testing.T, pid int, budget float64) *observer {
	t.Helper()
	w, err := worker.Open(pid)
	if err == nil {
		t.Cleanup(func() { w.Close() })
		_, err = w.Stopped(time.Second, func(process.Registers) error { return nil })
	}
	if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
	var o observe.Observer
	if err == nil {
		o, err = observeLocks(observe.At{Worker: w, Budget: budget})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o.(*observer)
}

// eventually has locks timed until what was seen of them is wanted, and returns all of it.
func eventually(t *testing.T, o *observer, wanted func(*Result) bool) *Result {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.Run(ctx) }()
	all := evidence.Result(&Result{})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		now, err := o.Result()
		if err != nil {
			t.Fatal(err)
		}
		if all = all.Merge(now); wanted(all.(*Result)) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not in 30 s: %+v", all)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	now, err := o.Result()
	if err != nil {
		t.Fatal(err)
	}
	return all.Merge(now).(*Result)
}

// TestObserve: a lock that is held for 20 ms is, by the name of its zone; one that is not is told apart; and nothing is left in the
// worker's code.
func TestObserve(t *testing.T) {
	probetest.Need(t)
	pid, client := nginxtest.Start(t, holding)
	res, err := client.Get("http://worker/hold")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	zone := func(r *Result, name string) (z Zone) {
		for _, one := range r.Zones {
			if one.Zone == name {
				return one
			}
		}
		return z
	}
	const held = 20 * time.Millisecond
	o := observed(t, pid, 1)
	r := eventually(t, o, func(r *Result) bool { return zone(r, "cats").Holds.Count >= 3 && zone(r, "dogs").Holds.Count >= 3 })
	cats, dogs := zone(r, "cats"), zone(r, "dogs")
	if n := time.Duration(cats.Holds.Count); cats.Holds.Total < n*held || cats.Holds.Longest < held || cats.Holds.Median < held*31/32 {
		t.Errorf("cats is held %d times, at most %v, %v together", n, cats.Holds.Longest, cats.Holds.Total)
	}
	if dogs.Holds.Median >= held/2 || dogs.Waits.Count < dogs.Holds.Count || dogs.Waits.Total == 0 {
		t.Errorf("dogs is held %v, %d waits, %d holds", dogs.Holds.Median, dogs.Waits.Count, dogs.Holds.Count)
	}
	if r.Taken < cats.Waits.Count+dogs.Waits.Count || r.Each <= 0 || r.Cost <= 0 || r.Probed > r.Elapsed || r.Bursts < 1 {
		t.Errorf("%d taken at %v each: %v; %v of %v, %d bursts", r.Taken, r.Each, r.Cost, r.Probed, r.Elapsed, r.Bursts)
	}
	// Kept as JSON, it comes back.
	kept, err := json.Marshal(evidence.Set{Name: r})
	var back evidence.Set
	if err == nil {
		err = json.Unmarshal(kept, &back)
	}
	if diff := cmp.Diff(r, back[Name]); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	// A budget that one lock exceeds ends the probing after its trial.
	poor := observed(t, pid, 1e-9)
	r = eventually(t, poor, func(r *Result) bool { return r.Taken > 0 && r.Elapsed > 500*time.Millisecond })
	if r.Bursts != 1 || r.Probed >= r.Elapsed {
		t.Errorf("%d bursts, %v of %v probed", r.Bursts, r.Probed, r.Elapsed)
	}
	w := o.worker
	program, err := w.FindObject("ngx_shmtx_lock", "ngx_shmtx_unlock")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ngx_shmtx_lock", "ngx_shmtx_unlock"} {
		code, at, err := program.Code(name)
		if err != nil {
			t.Fatal(err)
		}
		const compared = 8 // bytes; a breakpoint is one at the beginning
		now := make([]byte, compared)
		if err := w.ReadAt(now, at); err != nil || !bytes.Equal(now, code[:compared]) {
			t.Errorf("%s is left as % x, not % x: %v", name, now, code[:compared], err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none := observed(t, pid, 1)
	if err := none.Run(ctx); err != nil || none.bursts != 0 {
		t.Errorf("%d bursts, %v", none.bursts, err)
	}
}
