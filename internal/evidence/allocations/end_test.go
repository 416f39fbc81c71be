package allocations

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
	"github.com/moonlap/moonlap/internal/runtime/luajittest"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/sample/sampletest"
	"github.com/moonlap/moonlap/internal/worker"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// allocates is a script that allocates in its third line and does little else.
const allocates = `local keep, x = nil, 0
while true do
    for i = 1, 100 do keep = { i, i } end
    for i = 1, 10000 do x = (x * 31 + i) % 1000003 end
end
`

// allocatorProbed reports whether a probe is in the process's allocator, which is compared with its file.
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
	s := sampletest.Sampler(t)
	cmd := luajittest.Script(t, allocates)
	w := workertest.Await(t, cmd.Process.Pid)
	ticks := 0
	l := count(t.Context(), w, s, time.Minute, 1, func(time.Duration) {
		if ticks++; ticks == 4 { // a second
			cmd.Process.Kill()
		}
	})
	if !errors.Is(l.err, worker.ErrEnded) {
		t.Errorf("it was killed: %v", l.err)
	}
	if l.Counted == 0 || l.Bytes < 0.9*float64(l.Counted) || l.looks.Elapsed > 50*time.Second {
		t.Errorf("after %v: %+v", l.looks.Elapsed, l.Result)
	}
}

// TestAllocationsTwice: two profilers at once count the same, and the one that ends first takes nothing from the other.
func TestAllocationsTwice(t *testing.T) {
	pid := luajittest.Script(t, allocates).Process.Pid
	at := allocator(t, workertest.Await(t, pid))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wait sync.WaitGroup
	var long observation
	s, other, w, again := sampletest.Sampler(t), sampletest.Sampler(t), workertest.Await(t, pid), workertest.Await(t, pid)
	wait.Go(func() {
		long = count(ctx, w, s, time.Hour, 1, noTick)
	})
	awaitProbe(t, pid, at, true)
	short := count(t.Context(), again, other, time.Second, 1, noTick)
	if short.err != nil {
		t.Fatal(short.err)
	}
	if !allocatorProbed(t, pid, at) {
		t.Error("the first one's probe is gone with the second one's")
	}
	cancel()
	wait.Wait()
	if allocatorProbed(t, pid, at) {
		t.Error("a probe is left")
	}
	for _, l := range []observation{long, short} {
		lines := map[int]int{}
		for _, x := range l.taken {
			lines[lineOf(x.Sample)]++
		}
		if l.Counted == 0 || lines[3] == 0 || lines[3] < len(l.taken)*9/10 {
			t.Errorf("%+v, lines %v", l.Result, lines)
		}
	}
	if long.Counted < short.Counted {
		t.Errorf("%d bytes in the longer time, %d in the shorter", long.Counted, short.Counted)
	}
}

const victim = "MOONLAP_TEST_ALLOCATIONS_OF" // a process that TestAllocationsKilled has another process of this test probe

// TestAllocationsKilled: of a profiler that is killed, nothing stays attached.
func TestAllocationsKilled(t *testing.T) {
	if pid, err := strconv.Atoi(os.Getenv(victim)); err == nil {
		w, err := worker.OpenProgram(pid)
		if err != nil {
			t.Fatal(err)
		}
		count(t.Context(), w, sampletest.Sampler(t), time.Hour, 1, noTick)
		return
	}
	sampletest.Sampler(t)
	pid := luajittest.Script(t, allocates).Process.Pid
	at := allocator(t, workertest.Await(t, pid))
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

// TestAllocationsOfRequests: a worker's allocations are reported by request, and its requests are counted.
func TestAllocationsOfRequests(t *testing.T) {
	s := sampletest.Sampler(t)
	pid, client := nginxtest.Start(t, nginxtest.Conf{Server: `location = /tables { content_by_lua_block {
	local all = {}
	for i = 1, 500 do all[i % 10] = { i, i } end
	ngx.say(#all)
} }`})
	w := workertest.Open(t, pid)
	stop := nginxtest.Request(t, client, "/tables")
	defer stop()
	var a observation
	const enough = 50
	for end := time.Now().Add(time.Minute); len(a.taken) < enough && time.Now().Before(end); {
		if a = count(t.Context(), w, s, 2*time.Second, 1, noTick); a.err != nil {
			t.Fatal(a.err)
		}
	}
	bytes := map[string]float64{}
	for _, x := range a.taken {
		bytes[x.Request.URI] += x.Bytes
	}
	if bytes["/tables"] < a.Bytes/10 || len(a.taken) < enough {
		t.Errorf("%d samples, bytes by request %v of %.0f; %d failed: %v", len(a.taken), bytes, a.Bytes, a.looks.Failed, a.looks.LastErr)
	}
	n := float64(a.Requests)
	if n == 0 {
		t.Fatalf("%+v", a.served)
	}
	t.Logf("%.0f bytes a request (%.0f to %.0f), of %.0f", a.Bytes/n, a.Low/n, a.High/n, n)
	// A table with an array of three is 64 bytes and 24, so a request has that 500 times. What else it has is less than as
	// much again. The requests are not counted at exactly the moments when the worker's CPU time is read.
	const each, about = 500 * 88, 1.5
	if about*a.High < each*n || a.Low > about*2*each*n {
		t.Errorf("%.0f to %.0f bytes, of %.0f requests; %+v", a.Low, a.High, n, a.Result)
	}
}
