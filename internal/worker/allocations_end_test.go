package worker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// allocates is a script that allocates in its third line and does little else.
const allocates = `local keep, x = nil, 0
while true do
    for i = 1, 100 do keep = { i, i } end
    for i = 1, 10000 do x = (x * 31 + i) % 1000003 end
end
`

// allocatorProbed tells whether a probe is in the process's allocator, which is compared with its file.
func allocatorProbed(t *testing.T, pid int, at uint64) bool {
	t.Helper()
	p, err := process.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	place, err := p.Place(at)
	if err != nil {
		t.Fatal(err)
	}
	now := make([]byte, len(place.Code))
	if err := p.ReadAt(now, at); err != nil {
		t.Fatal(err)
	}
	return !bytes.Equal(now, place.Code)
}

// awaitProbe waits until a probe is there, or is not.
func awaitProbe(t *testing.T, pid int, at uint64, there bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); allocatorProbed(t, pid, at) != there; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in a minute the allocator has not come to be probed (%v)", there)
		}
	}
}

// TestAllocationsEnded: a worker that ends while it is probed leaves what was seen until then.
func TestAllocationsEnded(t *testing.T) {
	s := sampler(t)
	cmd := script(t, allocates)
	w := awaitMachine(t, cmd.Process.Pid)
	ticks := 0
	l, err := w.Watch(t.Context(), s, time.Minute, Wants{Hz: 500, Allocations: 1}, func(time.Duration) {
		if ticks++; ticks == 4 { // a second
			cmd.Process.Kill()
		}
	})
	if !errors.Is(err, ErrEnded) {
		t.Errorf("it was killed: %v", err)
	}
	if a := l.Allocations; a == nil || a.CountedBytes == 0 || a.Bytes < 0.9*float64(a.CountedBytes) || l.Elapsed > 50*time.Second {
		t.Errorf("after %v: %+v", l.Elapsed, a)
	}
}

// TestAllocationsTwice: two profilers at once count the same, and the one that ends first takes nothing from the other.
func TestAllocationsTwice(t *testing.T) {
	pid := script(t, allocates).Process.Pid
	at := awaitMachine(t, pid).allocator(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wait sync.WaitGroup
	var long Looks
	s, other, w, again := sampler(t), sampler(t), awaitMachine(t, pid), awaitMachine(t, pid)
	wait.Go(func() {
		long, _ = w.Watch(ctx, s, time.Hour, Wants{Hz: 500, Allocations: 1}, noTick)
	})
	awaitProbe(t, pid, at, true)
	short, err := again.Watch(t.Context(), other, time.Second, Wants{Hz: 500, Allocations: 1}, noTick)
	if err != nil {
		t.Fatal(err)
	}
	if !allocatorProbed(t, pid, at) {
		t.Error("the first one's probe is gone with the second one's")
	}
	cancel()
	wait.Wait()
	if allocatorProbed(t, pid, at) {
		t.Error("a probe is left")
	}
	for _, l := range []Looks{long, short} {
		lines := map[int]int{}
		for _, x := range l.Samples {
			lines[lineOf(x)]++
		}
		if l.Allocations == nil || l.Allocations.CountedBytes == 0 || lines[3] == 0 || lines[3] < len(l.Samples)*9/10 {
			t.Errorf("%+v, lines %v", l.Allocations, lines)
		}
	}
	if long.Allocations.CountedBytes < short.Allocations.CountedBytes {
		t.Errorf("%d bytes in the longer time, %d in the shorter", long.Allocations.CountedBytes, short.Allocations.CountedBytes)
	}
}

const victim = "MOONLAP_TEST_ALLOCATIONS_OF" // a process that TestAllocationsKilled has another process of this test probe

// TestAllocationsKilled: of a profiler that is killed, nothing stays attached.
func TestAllocationsKilled(t *testing.T) {
	if pid, err := strconv.Atoi(os.Getenv(victim)); err == nil {
		w, err := OpenProgram(pid)
		if err != nil {
			t.Fatal(err)
		}
		w.Watch(t.Context(), sampler(t), time.Hour, Wants{Hz: 100, Allocations: 1}, noTick)
		return
	}
	sampler(t)
	pid := script(t, allocates).Process.Pid
	at := awaitMachine(t, pid).allocator(t)
	profiler := exec.Command(os.Args[0], "-test.run=^TestAllocationsKilled$")
	profiler.Env = append(os.Environ(), victim+"="+strconv.Itoa(pid))
	if err := profiler.Start(); err != nil {
		t.Fatal(err)
	}
	defer profiler.Wait()
	defer profiler.Process.Kill()
	awaitProbe(t, pid, at, true)
	profiler.Process.Kill()
	awaitProbe(t, pid, at, false)
}

// TestAllocationsOfRequests: a worker's allocations are told by request, and its requests are counted.
func TestAllocationsOfRequests(t *testing.T) {
	s := sampler(t)
	pid, client := nginxWith(t, "", `location = /tables { content_by_lua_block {
	local all = {}
	for i = 1, 500 do all[i % 10] = { i, i } end
	ngx.say(#all)
} }`)
	w := open(t, pid)
	stop := request(t, client, "/tables")
	defer stop()
	var l Looks
	const enough = 50
	for end := time.Now().Add(time.Minute); len(l.Samples) < enough && time.Now().Before(end); {
		var err error
		if l, err = w.Watch(t.Context(), s, 2*time.Second, Wants{Hz: 500, Allocations: 1}, noTick); err != nil {
			t.Fatal(err)
		}
	}
	bytes := map[string]float64{}
	for _, x := range l.Samples {
		bytes[x.Request.URI] += x.Allocation.Bytes
	}
	a := l.Allocations
	if bytes["/tables"] < a.Bytes/10 || len(l.Samples) < enough {
		t.Errorf("%d looks, bytes by request %v of %.0f; %d failed: %v", len(l.Samples), bytes, a.Bytes, l.Failed, l.LastErr)
	}
	served := a.Served[process.Parent(pid)]
	if len(served.Workers) != 1 || served.Workers[0] != pid || served.Requests == 0 {
		t.Fatalf("%+v", a.Served)
	}
	t.Logf("%.0f bytes a request (%.0f to %.0f), of %d", a.Bytes/float64(served.Requests), a.Low/float64(served.Requests), a.High/float64(served.Requests), served.Requests)
	// A table with an array of three is 64 bytes and 24, so a request has that 500 times. What else it has is less than as
	// much again. The requests are not counted at exactly the moments when the worker's CPU time is read.
	const each, about = 500 * 88, 1.5
	if n := float64(served.Requests); about*a.High < each*n || a.Low > about*2*each*n {
		t.Errorf("%.0f to %.0f bytes, of %d requests; %+v", a.Low, a.High, served.Requests, a)
	}
}
