package nginx

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// loadDict makes the full dictionary of an image that a test of the room worker saves with -save: 176
// entries, the last of 2000, each of 200 bytes.
func loadDict(t rapid.TB) (*Nginx, Zone) {
	t.Helper()
	n, _, _ := loadFrom(t, "testdata/dict.image")
	zones, err := n.Zones()
	if err != nil {
		t.Fatal(err)
	}
	return n, zones[slices.IndexFunc(zones, func(z Zone) bool { return z.Name == "full" })]
}

// readDict reads all that there is to read.
func readDict(n *Nginx, z Zone) (entries int, oldest, largest []Entry, err error) {
	d, err := n.Dict(z)
	if d == nil || err != nil {
		return 0, nil, nil, err
	}
	c, err := d.Scan(time.Now(), 1000, 3, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		return 0, nil, nil, err
	}
	for _, s := range c.Strata {
		for _, page := range s.Read {
			entries += page.Entries
		}
	}
	oldest, err = d.Oldest(time.Now(), 1000)
	d.Fate(oldest, time.Now())
	return entries, oldest, c.Largest, err
}

func TestDictImage(t *testing.T) {
	n, z := loadDict(t)
	const entries = 176
	got, oldest, largest, err := readDict(n, z)
	if err != nil || got != entries || len(oldest) != entries || oldest[0].Key != "key1825" || oldest[entries-1].Key != "key2000" ||
		len(largest) != 3 || largest[0].Bytes != 200 {
		t.Errorf("%d entries, %d in their order, %+v; %v", got, len(oldest), largest, err)
	}
	z.Module = "ngx_http_limit_req_module"
	if d, err := n.Dict(z); d != nil || err != nil {
		t.Errorf("a zone of another module: %v, %v", d, err)
	}
	z.Module, z.Data = "ngx_http_lua_module", z.Start
	if d, err := n.Dict(z); d != nil || err == nil {
		t.Errorf("a zone that knows no dictionary: %v", d)
	}
}

// TestSpoiltDict changes many words of a dictionary at once: reading ends, with figures or an error.
func TestSpoiltDict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, z := loadDict(t)
		_, image, _ := loadFrom(t, "testdata/dict.image")
		for range rapid.IntRange(1, 50).Draw(t, "words") {
			part := image.Parts[rapid.IntRange(0, len(image.Parts)-1).Draw(t, "part")]
			other := image.Parts[rapid.IntRange(0, len(image.Parts)-1).Draw(t, "other")]
			if len(part.Bytes) < 8 || len(other.Bytes) < 8 {
				continue
			}
			to, from := 8*rapid.IntRange(0, len(part.Bytes)/8-1).Draw(t, "to"), 8*rapid.IntRange(0, len(other.Bytes)/8-1).Draw(t, "from")
			copy(part.Bytes[to:to+8], other.Bytes[from:from+8])
		}
		reads := &counted{memory: image}
		readDict(&Nginx{Memory: reads, Symbols: n.Symbols}, z)
		reads.check(t)
	})
}

// TestFilledDict reads memory that is the same everywhere, and never fails.
func TestFilledDict(t *testing.T) {
	n, z := loadDict(t)
	for _, word := range []uint64{0, 1, 0x40, 0x1000, 1<<64 - 1, z.Start, z.Start + 0x40, 0x0808_0808_0808_0808} {
		reads := &counted{memory: filled(word)}
		if got, oldest, _, err := readDict(&Nginx{Memory: reads, Symbols: n.Symbols}, z); err == nil && got+len(oldest) > 0 {
			t.Errorf("%#x everywhere is a dictionary of %d entries", word, got)
		}
		reads.check(t)
	}
}
