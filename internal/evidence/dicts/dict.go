package dicts

import (
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/record"
)

// A Dict is what a shared dict holds, and what it evicted over an interval. Of a large one a part
// is read; what was counted there is scaled up, with an interval at 95 %.
type Dict struct {
	Zone    string          `json:"zone"`
	Entries record.Interval `json:"entries"`
	Expired record.Interval `json:"expired"`     // of those: kept although their time is over
	Bytes   record.Interval `json:"entry_bytes"` // that entries take, before pieces round them up

	// PagesUsed hold entries; PagesRead of them were read.
	PagesUsed int `json:"pages_used"`
	PagesRead int `json:"pages_read"`

	Evicted Evicted `json:"evicted"`
	// NoRoom counts, per second, the pieces that there was no room for: the dict then evicts its
	// oldest entry, and perhaps another, unless it was safe_set, safe_add or the like that asked.
	NoRoom float64 `json:"no_room_per_second"`

	// Next is the entry that is evicted next: that which was used least recently.
	Next *nginx.Entry `json:"next_out"`
	// Largest entries of those that were read; of values of more than half a page, of all.
	Largest []nginx.Entry `json:"largest,omitempty"`

	Unknown string `json:"unknown,omitempty"` // why the rest is empty
}

// Evicted is what left the dict before its time. At the interval's beginning the entries that would be
// evicted next are noted; what is gone of them at its end, and had not expired, was evicted, or deleted.
type Evicted struct {
	PerSecond float64 `json:"per_second"`
	AtLeast   bool    `json:"at_least"` // none that was noted is in its place: there may have been more
	Noted     int     `json:"noted"`
	Moved     int     `json:"set_anew"`   // of those: to another size, or after they were evicted
	Gone      int     `json:"gone"`       // of those
	Alive     int     `json:"gone_alive"` // of those that are gone, before their time was over
}
