package heap_test

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/heap"
	"github.com/moonlap/moonlap/internal/heap/heaptest"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// TestHeap: every byte that Lua counts is found, and what testdata/app.lua builds is where it put it.
func TestHeap(t *testing.T) {
	pid, client := workertest.App(t, nginxtest.Conf{})
	w := workertest.Open(t, pid)
	nginxtest.Get(t, client, "/heap")
	before := nginxtest.Get(t, client, "/count").Get("Bytes")
	h := heaptest.Take(t, w)
	heaptest.SameSpilt(t, w, h)
	if h.Total != h.Accounted() || h.Broken != 0 || h.Cut != 0 {
		t.Errorf("Lua counts %d bytes, %d were found; %d broken, %d cut", h.Total, h.Accounted(), h.Broken, h.Cut)
	}
	if !h.Stopped || h.PauseNS <= 0 || h.Copied < h.Total {
		t.Errorf("stopped %v for %d ns, %d bytes copied", h.Stopped, h.PauseNS, h.Copied)
	}
	// Between the count and the look only the request's own garbage has come.
	if count, err := strconv.ParseFloat(before, 64); err != nil || math.Abs(count-float64(h.Total)) > 20_000 {
		t.Errorf("Lua counted %s bytes, then %d, %v", before, h.Total, err)
	}
	_, garbage := h.Garbage()
	if garbage > 20_000 {
		t.Errorf("%d bytes of garbage right after a collection", garbage)
	}
	for _, want := range []struct {
		path         string
		count, bytes int64
	}{
		// A string is 24 bytes and its text with a zero behind it, in steps of 4: 24 + 104.
		{`upvalue store → table → […] string`, 10_000, 128 * 10_000},
		// "key 1" … "key 10000": 9 of 32, 990 of 32, 9000 of 36 and one of 36 bytes.
		{`upvalue store → table → key string`, 10_000, 32*999 + 36*9001},
		{`.boxes table`, 1, 64 + 8*1025},
		{`.boxes table → […] table → .name string`, 1_000, 32*999 + 36}, // "box 1000" takes one step more
		{`.boxes table → […] table → […] table`, 1_000, 0},
		{`.buffer cdata uint8_t[]`, 1, 50_000 + 16 + 8},
		{`.suspended coroutine`, 1, 0},
		{`.suspended coroutine → local of @app.lua:75 table → […] string`, 1, 24 + 5004},
	} {
		found := heaptest.Find(h.Holders, "", want.path)
		if found == nil {
			t.Errorf("%s was not found", want.path)
			continue
		}
		if found.Count != want.count || want.bytes > 0 && found.Bytes != want.bytes {
			t.Errorf("%s: %d objects of %d bytes, want %d of %d", want.path, found.Count, found.Bytes, want.count, want.bytes)
		}
	}
	if weak := heaptest.Find(h.Holders, "", ".weak table → .first table"); weak != nil {
		t.Errorf("a weak reference is said to hold %d bytes", weak.HeldBytes)
	}
	// What a table holds is what Lua has less without it.
	held := heaptest.Find(h.Holders, "", `["app.cache"] table`)
	if held == nil {
		t.Fatal("the cache was not found")
	}
	nginxtest.Get(t, client, "/forget")
	nginxtest.Get(t, client, "/count")
	freed := objects(h) - objects(heaptest.Take(t, w))
	const compiled = 5_000 // bytes of a trace or two that come meanwhile
	if freed < held.HeldBytes-compiled || freed > held.HeldBytes+20_000 {
		t.Errorf("%d bytes are held, %d were free without", held.HeldBytes, freed)
	}
	store := h.Tables[0]
	if !strings.HasPrefix(store.Path, `package.loaded["app.cache"].get → upvalue store`) || store.Entries != 10_000 ||
		store.Bytes != 64+24*16384 || store.Held != store.Bytes+128*10_000+32*999+36*9001 {
		t.Errorf("the largest table is %+v", store)
	}
	if c := h.CData[0]; c.What != "uint8_t[]" || c.Bytes != 50_024 || !strings.Contains(c.Path, "app.cache") {
		t.Errorf("the largest C data is %+v", c)
	}
}

// objects is the size of all objects.
func objects(h heap.Heap) (bytes int64) {
	for _, t := range h.Types {
		bytes += t.Bytes
	}
	return bytes
}

// TestHeapUnderLoad: a worker that allocates, collects and compiles is stopped anywhere. Nearly all is
// found all the same: a list may be cut only where it was about to be changed.
func TestHeapUnderLoad(t *testing.T) {
	pid, client := workertest.App(t, nginxtest.Conf{})
	w := workertest.Open(t, pid)
	for _, path := range []string{"/garbage", "/helper", "/interpreted"} {
		stop := nginxtest.Request(t, client, path)
		exact := 0
		const times = 10
		for range times {
			h := heaptest.Take(t, w)
			if off := math.Abs(float64(h.Total-h.Accounted())) / float64(h.Total); off == 0 {
				exact++
			} else if off > 0.05 && h.Cut == 0 && h.Broken == 0 {
				t.Errorf("%s: %.1f %% of %d bytes were not found, and nothing tells it", path, 100*off, h.Total)
			}
			time.Sleep(3 * time.Millisecond)
		}
		if exact < times/4 {
			t.Errorf("%s: only %d of %d looks found every byte", path, exact, times)
		}
		// While it runs, a copy is of no one moment, and a part may be missing; it ends, and says so.
		for range 3 {
			h, err := heaptest.First(w, heap.Options{})
			if err == nil && (h.Stopped || h.PauseNS != 0 || h.Objects == 0) || err != nil && !errors.Is(err, luajit.ErrLayout) {
				t.Errorf("%s, not stopped: %d objects, pause %d ns, %v", path, h.Objects, h.PauseNS, err)
			}
		}
		stop()
	}
}

// TestHeapTooLong: a pause that is too short is refused, and the worker goes on.
func TestHeapTooLong(t *testing.T) {
	pid, client := workertest.App(t, nginxtest.Conf{})
	w := workertest.Open(t, pid)
	_, err := heaptest.First(w, heap.Options{Pause: 1})
	var long *process.PauseError
	if !errors.As(err, &long) || long.Needed <= 1 {
		t.Errorf("a pause of a nanosecond: %v", err)
	}
	nginxtest.Get(t, client, "/none")
}

// TestHeapGrows: of two snapshots the difference names the leak that lies between them.
func TestHeapGrows(t *testing.T) {
	pid, client := workertest.App(t, nginxtest.Conf{})
	w := workertest.Open(t, pid)
	nginxtest.Get(t, client, "/heap")
	nginxtest.Get(t, client, "/leak")
	before := heaptest.Take(t, w)
	for range 3 {
		nginxtest.Get(t, client, "/leak")
	}
	after := heaptest.Take(t, w)
	const path = `["app.leak"] table → .kept table`
	for what, objects := range map[string]int64{
		path + ` → […] table`:                15_000,
		path + ` → […] table → .text string`: 15_000,
	} {
		one, two := heaptest.Find(before.Holders, "", what), heaptest.Find(after.Holders, "", what)
		if one == nil || two == nil {
			t.Errorf("%s was not found", what)
		} else if two.Count-one.Count != objects {
			t.Errorf("%s grew by %d objects, want %d", what, two.Count-one.Count, objects)
		}
	}
}

// TestHeapCorrupted: objects are scribbled over with garbage. The look ends, and says how much makes no
// sense.
func TestHeapCorrupted(t *testing.T) {
	pid, client := workertest.App(t, nginxtest.Conf{})
	w := workertest.Open(t, pid)
	nginxtest.Get(t, client, "/heap")
	s, err := w.Snapshot(process.SnapshotOptions{Pause: heaptest.Patient})
	if err != nil {
		t.Fatal(err)
	}
	clean, err := w.VM.ReadHeap(s.Copy, s.Registers, nil)
	if err != nil {
		t.Fatal(err)
	}
	objects := clean.Len()
	const garbage = 0xa5
	for n, part := range s.Parts() {
		for at := 4096 + 512*n; at+16 <= len(part.Bytes); at += 50_000 {
			for i := range 16 {
				part.Bytes[at+i] = garbage
			}
		}
	}
	h, err := w.VM.ReadHeap(s.Copy, s.Registers, nil)
	if err != nil {
		t.Log(err) // also an answer
		return
	}
	census := heap.Census(h, nil)
	if h.Broken == 0 && h.Cut == 0 {
		t.Errorf("%d of %d objects, and all of them make sense", h.Len(), objects)
	}
	if census.Holders.HeldCount == 0 || h.Len() > 2*objects {
		t.Errorf("%d objects, %d held; there were %d", h.Len(), census.Holders.HeldCount, objects)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
		t.Error(err)
	}
}
