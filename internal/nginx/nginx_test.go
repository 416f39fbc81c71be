package nginx

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
)

// load makes an nginx of the image that a test of the room worker saves with -save, and the time when
// it was saved: one worker of Debian 12's nginx 1.22 with 64 connections, a request that waits, three
// timers of Lua's, one of which has run, a full dictionary and an empty one.
func load(t rapid.TB) (n *Nginx, image *processtest.Image, now uint64) {
	t.Helper()
	return loadFrom(t, "testdata/watched.image")
}

func loadFrom(t rapid.TB, file string) (n *Nginx, image *processtest.Image, now uint64) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if image, err = processtest.ReadImage(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	var about struct {
		Symbols Symbols
		Now     uint64
	}
	if err := json.Unmarshal(image.About, &about); err != nil {
		t.Fatal(err)
	}
	return &Nginx{Memory: image, Symbols: about.Symbols}, image, about.Now
}

// all reads all that there is to read.
func all(n *Nginx, now uint64) (used, limit, served int, c Counters, zones []Zone, timers []Timer, err error) {
	var errs [5]error
	used, limit, errs[0] = n.Connections()
	errs[1] = n.EachConnection(func(_, _ uint64, fd int) {
		if fd >= 0 {
			served++
		}
	})
	c, errs[2] = n.Counters()
	zones, errs[3] = n.Zones()
	timers, errs[4] = n.Timers(now)
	return used, limit, served, c, zones, timers, errors.Join(errs[:]...)
}

func TestImage(t *testing.T) {
	n, _, now := load(t)
	used, limit, served, c, zones, timers, err := all(n, now)
	if err != nil {
		t.Fatal(err)
	}
	if limit != 64 || used <= served || served == 0 || used > 20 {
		t.Errorf("%d connections of %d in use, %d with a file", used, limit, served)
	}
	if c.Requests < 4 || c.Active == 0 || c.Active != c.Reading+c.Writing+c.Waiting || int(c.Active) > served {
		t.Errorf("%+v", c)
	}
	const page = 4096
	want := []Zone{
		{Name: "empty", Module: "ngx_http_lua_module", Size: 1 << 20, Capacity: 254 * page, Free: 252 * page, Pieces: 2},
		{Name: "full", Module: "ngx_http_lua_module", Size: 100 << 10, Capacity: 24 * page, Pieces: 178, Failed: 1824},
		{Name: "moonlap_internal", Module: "ngx_http_lua_module", Size: 64 << 10, Capacity: 15 * page, Free: 13 * page, Pieces: 3},
	}
	for i := range zones {
		if zones[i].Start%page != 0 || zones[i].Start == 0 {
			t.Errorf("%s begins at %#x", zones[i].Name, zones[i].Start)
		}
		zones[i].Start, zones[i].Data = 0, 0
	}
	if diff := cmp.Diff(want, zones); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	hours := 0
	for _, timer := range timers {
		if timer.Due > 59*time.Minute && timer.Due <= 3*time.Hour {
			hours++
		}
	}
	if hours != 3 || len(timers) < 5 {
		t.Errorf("timers: %+v", timers)
	}
}

// TestGarbledImage changes words of the memory, as a corrupt heap would have them: reading ends, with
// figures or an error.
func TestGarbledImage(t *testing.T) {
	n, image, now := load(t)
	symbols := n.Symbols
	for p := range image.Parts {
		part := image.Parts[p]
		for at := 0; at+8 <= len(part.Bytes); at += 8 {
			before := append([]byte(nil), part.Bytes[at:at+8]...)
			for _, garbage := range []uint64{0, 1<<64 - 1, part.Address + uint64(at)} {
				for i := range 8 {
					part.Bytes[at+i] = byte(garbage >> (8 * i))
				}
				reads := &counted{memory: image}
				all(&Nginx{Memory: reads, Symbols: symbols}, now)
				reads.check(t)
			}
			copy(part.Bytes[at:], before)
		}
	}
}

// TestSpoiltImage changes many words at once.
func TestSpoiltImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, image, now := load(t)
		for range rapid.IntRange(1, 50).Draw(t, "words") {
			part := image.Parts[rapid.IntRange(0, len(image.Parts)-1).Draw(t, "part")]
			words := len(part.Bytes) / 8
			if words == 0 {
				continue
			}
			to := 8 * rapid.IntRange(0, words-1).Draw(t, "to")
			other := image.Parts[rapid.IntRange(0, len(image.Parts)-1).Draw(t, "other")]
			if len(other.Bytes) < 8 {
				continue
			}
			from := 8 * rapid.IntRange(0, len(other.Bytes)/8-1).Draw(t, "from")
			copy(part.Bytes[to:to+8], other.Bytes[from:from+8])
		}
		reads := &counted{memory: image}
		all(&Nginx{Memory: reads, Symbols: n.Symbols}, now)
		reads.check(t)
	})
}

// TestFilled reads memory that is the same everywhere, and never fails.
func TestFilled(t *testing.T) {
	n, _, now := load(t)
	for _, word := range []uint64{0, 1, 8, 0x40, 0x1000, 0x100000, 1<<64 - 1, n.Symbols.Cycle, 0x0808_0808_0808_0808} {
		reads := &counted{memory: filled(word)}
		if _, _, _, _, zones, timers, err := all(&Nginx{Memory: reads, Symbols: n.Symbols}, now); err == nil {
			t.Errorf("%#x everywhere is an nginx: %v, %v", word, zones, timers)
		}
		reads.check(t)
	}
}

// TestWithoutCounters: an nginx without stub_status says so.
func TestWithoutCounters(t *testing.T) {
	n, _, _ := load(t)
	n.Symbols.Waiting = 0
	if _, err := n.Counters(); !errors.Is(err, ErrNoCounters) {
		t.Error(err)
	}
}

// A filled memory has the same eight bytes everywhere.
type filled uint64

func (f filled) ReadAt(b []byte, address uint64) error {
	for i := range b {
		b[i] = byte(f >> (8 * ((address + uint64(i)) % 8)))
	}
	return nil
}

// counted counts what is read: memory that is garbage must not be read without end.
type counted struct {
	memory process.Memory
	reads  int
}

func (c *counted) ReadAt(b []byte, address uint64) error {
	c.reads++
	return c.memory.ReadAt(b, address)
}

func (c *counted) check(t interface{ Errorf(string, ...any) }) {
	const most = 2_000_000
	if c.reads > most {
		t.Errorf("%d reads", c.reads)
	}
}
