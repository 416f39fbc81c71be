package dicts

import (
	"math/rand/v2"
	"time"

	"github.com/moonlap/moonlap/internal/nginx"
)

// An Observer observes the dicts of one nginx over an interval.
type Observer struct {
	nginx   *nginx.Nginx
	largest int
	began   time.Time
	spans   []span
}

// Observe notes what the dicts would evict next; largest is how many of the largest entries are kept.
func Observe(n *nginx.Nginx, largest int) *Observer {
	return &Observer{n, largest, time.Now(), noteAll(n)}
}

// Result reads the dicts at the interval's end.
func (o *Observer) Result() (*Result, error) {
	elapsed := time.Since(o.began)
	zones, err := o.nginx.Zones()
	if err != nil {
		return nil, err
	}
	r := &Result{Dicts: []Dict{}}
	for _, s := range o.spans {
		for _, z := range zones {
			if z.Name == s.zone.Name && z.Start == s.zone.Start {
				r.Dicts = append(r.Dicts, s.read(z, elapsed, mostPages/len(o.spans), o.largest))
			}
		}
	}
	return r, nil
}

const (
	// mostPages are read in an interval at most, 16 MB, of all dicts together; of each at least
	// some dozens.
	mostPages = 4096
	// mostNoted is how many of the entries that are thrown out next are noted.
	mostNoted = 512
)

// A span is a shared dict over an interval.
type span struct {
	dict  *nginx.Dict
	zone  nginx.Zone
	noted []nginx.Entry
	err   error
}

// noteAll notes what the dicts would evict next.
func noteAll(n *nginx.Nginx) []span {
	zones, err := n.Zones()
	if err != nil {
		return nil // said at the interval's end
	}
	var all []span
	for _, z := range zones {
		s := span{zone: z}
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
	const few, tries = 32, 200
	noted, err := d.Oldest(time.Now(), mostNoted)
	if err != nil || len(noted) == 0 || len(noted) >= few {
		return noted, err
	}
	keys := map[string]bool{}
	for _, e := range noted {
		keys[e.Key] = true
	}
	for range tries {
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

// read reads a dict at the interval's end.
func (s span) read(z nginx.Zone, elapsed time.Duration, pages, largest int) Dict {
	r := Dict{Zone: z.Name}
	fail := func(err error) Dict { return Dict{Zone: z.Name, Unknown: err.Error()} }
	if s.err != nil {
		return fail(s.err)
	}
	now := time.Now()
	if z.Failed > s.zone.Failed && elapsed > 0 {
		r.NoRoom = float64(z.Failed-s.zone.Failed) / elapsed.Seconds()
	}
	r.Evicted = evicted(s.noted, s.dict.Fate(s.noted, now), r.NoRoom, elapsed)
	contents, err := s.dict.Scan(now, pages, largest, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
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
