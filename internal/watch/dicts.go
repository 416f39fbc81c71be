package watch

import (
	"math/rand/v2"
	"time"

	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/record"
)

// A Dict is what a dictionary of Lua's holds, and what it threw out over an interval. Of a large one a part
// is read; what was counted there then stands for all of it, with an interval at 95 %.
type Dict struct {
	Zone    string          `json:"zone"`
	Entries record.Interval `json:"entries"`
	Expired record.Interval `json:"expired"`     // of those: kept although their time is over
	Bytes   record.Interval `json:"entry_bytes"` // that entries take, before pieces round them up

	// PagesUsed hold entries; so many of them were read.
	PagesUsed int `json:"pages_used"`
	PagesRead int `json:"pages_read"`

	Evicted Evicted `json:"evicted"`
	// NoRoom counts, per second, the pieces that there was no room for: the dictionary then throws out its
	// oldest entry, and perhaps another, unless it was safe_set, safe_add or the like that asked.
	NoRoom float64 `json:"no_room_per_second"`

	// Next is the entry that is thrown out next: that which was used least recently.
	Next *nginx.Entry `json:"next_out"`
	// Largest entries of those that were read; of values of more than half a page, of all.
	Largest []nginx.Entry `json:"largest,omitempty"`

	Unknown string `json:"unknown,omitempty"` // why the rest is empty
}

// Evicted is what left the dictionary before its time. At the interval's beginning the entries that would be
// thrown out next are noted; what is gone of them at its end, and had not expired, was thrown out, or deleted.
type Evicted struct {
	PerSecond float64 `json:"per_second"`
	AtLeast   bool    `json:"at_least"` // none that was noted is in its place: there may have been more
	Noted     int     `json:"noted"`
	Moved     int     `json:"set_anew"`   // of those: to another size, or after they were thrown out
	Gone      int     `json:"gone"`       // of those
	Alive     int     `json:"gone_alive"` // of those that are gone, before their time was over
}

// Dictionaries says how much of dictionaries is read.
type Dictionaries struct {
	Largest int // how many of the largest entries are kept
}

const (
	// dictPages are read in an interval at most, 16 MB, of all dictionaries together; of each at least
	// some dozens.
	dictPages = 4096
	// dictNoted is how many of the entries that are thrown out next are noted.
	dictNoted = 512
)

// A dictSpan is a dictionary over an interval.
type dictSpan struct {
	dict  *nginx.Dict
	zone  nginx.Zone
	noted []nginx.Entry
	err   error
}

// beginDicts notes what the dictionaries would throw out next.
func beginDicts(n *nginx.Nginx) []dictSpan {
	zones, err := n.Zones()
	if err != nil {
		return nil // said at the interval's end
	}
	var all []dictSpan
	for _, z := range zones {
		s := dictSpan{zone: z}
		if s.dict, s.err = n.Dict(z); s.err == nil && s.dict == nil {
			continue
		}
		if s.err == nil {
			s.noted, s.err = note(s.dict)
		}
		all = append(all, s)
	}
	return all
}

// note lists entries that are thrown out next. Where they are thrown out faster than many can be read at
// once, they are read one by one.
func note(d *nginx.Dict) ([]nginx.Entry, error) {
	const few, looks = 32, 200
	noted, err := d.Oldest(time.Now(), dictNoted)
	if err != nil || len(noted) == 0 || len(noted) >= few {
		return noted, err
	}
	keys := map[string]bool{}
	for _, e := range noted {
		keys[e.Key] = true
	}
	for range looks {
		next, err := d.Oldest(time.Now(), 1)
		if err != nil {
			return nil, err
		}
		for _, e := range next {
			if !keys[e.Key] {
				keys[e.Key] = true
				noted = append(noted, e)
			}
		}
	}
	return noted, nil
}

// endDicts reads the dictionaries at the interval's end.
func (d Dictionaries) endDicts(began []dictSpan, zones []nginx.Zone, elapsed time.Duration) []Dict {
	var all []Dict
	for _, s := range began {
		for _, z := range zones {
			if z.Name == s.zone.Name && z.Start == s.zone.Start {
				all = append(all, d.dict(s, z, elapsed, dictPages/len(began)))
			}
		}
	}
	return all
}

func (d Dictionaries) dict(s dictSpan, z nginx.Zone, elapsed time.Duration, pages int) Dict {
	r := Dict{Zone: z.Name}
	fail := func(err error) Dict { return Dict{Zone: z.Name, Unknown: err.Error()} }
	if s.err != nil {
		return fail(s.err)
	}
	now := time.Now()
	r.NoRoom = perSecond(s.zone.Failed, z.Failed, elapsed)
	r.Evicted = evicted(s.noted, s.dict.Fate(s.noted, now), r.NoRoom, elapsed)
	contents, err := s.dict.Scan(now, pages, d.Largest, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	if err != nil {
		return fail(err)
	}
	r.estimate(contents)
	r.Largest = contents.Largest
	oldest, err := s.dict.Oldest(now, 1)
	if err != nil {
		return fail(err)
	}
	if len(oldest) > 0 {
		r.Next = &oldest[0]
	}
	return r
}

// evicted works out how many entries were thrown out alive. While one of those noted is in its place, what
// is thrown out is among them. Where none is, each piece that there was no room for threw out one more.
func evicted(noted []nginx.Entry, f nginx.Fate, noRoom float64, elapsed time.Duration) Evicted {
	e := Evicted{Noted: len(noted), Moved: f.Moved, Gone: f.Gone, Alive: f.Alive}
	if f.Gone+f.Moved == 0 || elapsed <= 0 {
		return e
	}
	e.PerSecond = float64(f.Alive) / elapsed.Seconds()
	if f.Gone+f.Moved == len(noted) {
		e.AtLeast = f.Expired < len(noted) || noRoom > 0
		e.PerSecond = max(e.PerSecond, noRoom*forcedAlive(noted))
	}
	return e
}

// forcedAlive is the share of entries that had not expired among those that are thrown out for want of room,
// if all noted leave by it. Most that have expired leave otherwise: a set deletes up to two that have, if
// they are next; and where it finds no room, it throws out the next one, and up to two behind it that have.
func forcedAlive(noted []nginx.Entry) float64 {
	const besides = 2
	expired := func() bool { return len(noted) > 0 && noted[0].Expired() }
	pass := func() {
		for n := 0; n < besides && expired(); n++ {
			noted = noted[1:]
		}
	}
	alive, forced := 0, 0
	for len(noted) > 0 {
		if pass(); len(noted) == 0 {
			break
		}
		forced++
		if !expired() {
			alive++
		}
		noted = noted[1:]
		pass()
	}
	return float64(alive) / float64(max(forced, 1))
}
