package worker

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/probe"
)

// TestLockProbeRest: after its rest, a probe has cost no more than its share of the time, and no rest is longer than that takes.
func TestLockProbeRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spent := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "spent"))
		elapsed := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "elapsed"))
		budget := rapid.Float64Range(1e-4, 1).Draw(t, "budget")
		pause := rest(spent, elapsed, budget)
		const rounding = 1e-6
		within := float64(spent) <= budget*float64(elapsed+pause)*(1+rounding)+1
		if !within || pause < 0 || pause > 0 && float64(spent) < budget*float64(elapsed+pause-1)*(1-rounding) {
			t.Errorf("%v of %v at %v: a pause of %v", spent, elapsed, budget, pause)
		}
	})
	if got := rest(time.Hour, 0, 1e-300); got != math.MaxInt64 {
		t.Errorf("a pause of %v", got)
	}
}

// TestLockTimesAnd: times of the same zone in two workers are added up.
func TestLockTimesAnd(t *testing.T) {
	of := func(zones ...string) LockTimes {
		l := LockTimes{Taken: 1, Each: 3, Cost: 3, Budget: 0.01, Bursts: 1, Elapsed: 10, Probed: 5}
		for _, z := range zones {
			l.add(ZoneLock{Zone: z, Holds: probe.Spans{Sum: 7, Least: 7}})
		}
		return l
	}
	a := of("dogs", "cats")
	got := a.And(of("eels", "cats"))
	if len(got.Zones) != 3 || got.Zones[0].Zone != "cats" || got.Zones[0].Holds.Sum != 14 || got.Zones[0].Holds.Least != 7 || got.Zones[2].Zone != "eels" {
		t.Errorf("%+v", got.Zones)
	}
	if len(a.Zones) != 2 || a.Zones[0].Holds.Sum != 7 {
		t.Error("the first one has changed")
	}
	if got.Taken != 2 || got.Cost != 6 || got.Each != 3 || got.Elapsed != 20 || got.Budget != 0.01 {
		t.Errorf("%+v", got)
	}
}

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

// TestLockProbe: a lock that is held for 20 ms is, by the name of its zone; one that is not is told apart.
func TestLockProbe(t *testing.T) {
	s := sampler(t)
	pid, client := nginxWith(t, "lua_shared_dict cats 1m; lua_shared_dict dogs 1m;", holds)
	res, err := client.Get("http://worker/hold")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	w := open(t, pid)
	probing := func(budget float64, wanted func(LockTimes) bool) LockTimes {
		t.Helper()
		p, err := w.ProbeLocks(s, budget)
		if err != nil {
			t.Fatal(err)
		}
		var l LockTimes
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			if l, err = p.Run(t.Context(), 500*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if wanted(l) {
				return l
			}
		}
		t.Fatalf("not in 30 s: %+v", l)
		return l
	}
	const held = 20 * time.Millisecond
	l := probing(1, func(l LockTimes) bool {
		return len(l.Zones) >= 2 && l.Zones[len(l.Zones)-2].Holds.Count() >= 3 && l.Zones[len(l.Zones)-1].Holds.Count() >= 3
	})
	cats, dogs := l.Zones[len(l.Zones)-2], l.Zones[len(l.Zones)-1]
	if cats.Zone != "cats" || dogs.Zone != "dogs" {
		t.Fatalf("%q, %q", cats.Zone, dogs.Zone)
	}
	n := time.Duration(cats.Holds.Count())
	if cats.Holds.Least < held || cats.Holds.Sum < n*held || cats.Holds.Longest < cats.Holds.Least || cats.Holds.Percentile(50) < held*31/32 {
		t.Errorf("cats is held %d times, at least %v, at most %v, %v together", n, cats.Holds.Least, cats.Holds.Longest, cats.Holds.Sum)
	}
	if dogs.Holds.Least >= cats.Holds.Least || dogs.Waits.Count() < dogs.Holds.Count() || dogs.Waits.Least == 0 {
		t.Errorf("dogs is held %v, %d waits, %d holds", dogs.Holds.Least, dogs.Waits.Count(), dogs.Holds.Count())
	}
	if l.Taken < cats.Waits.Count()+dogs.Waits.Count() || l.Each <= 0 || l.Cost != time.Duration(l.Taken)*l.Each || l.Probed > l.Elapsed || l.Bursts < 1 {
		t.Errorf("%d taken at %v each: %v; %v of %v, %d bursts", l.Taken, l.Each, l.Cost, l.Probed, l.Elapsed, l.Bursts)
	}
	// A budget that one lock exceeds ends the probing after its trial.
	l = probing(1e-9, func(l LockTimes) bool { return l.Taken > 0 })
	if l.Bursts != 1 || l.Probed >= l.Elapsed {
		t.Errorf("%d bursts, %v of %v probed", l.Bursts, l.Probed, l.Elapsed)
	}
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
	p, err := w.ProbeLocks(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := p.Run(ctx, time.Hour); err != nil || l.Bursts != 0 {
		t.Errorf("%+v %v", l, err)
	}
}
