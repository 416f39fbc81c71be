// Package dicts is evidence of shared dicts: what is in them, and what they evict.
package dicts

import (
	"slices"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/metrics"
)

// Name is that of the kind, and of its flag.
const Name = "dicts"

// A Result is the shared dicts of one nginx.
type Result struct {
	Dicts []Dict `json:"dicts"`
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// Merge is both together. Of a dict that both have, it is the later.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	return &Result{evidence.Group(slices.Concat(r.Dicts, other.(*Result).Dicts), func(d Dict) string { return d.Zone }, func(to *Dict, one Dict) { *to = one })}
}

// Metrics writes what is in them.
func (r *Result) Metrics(p *metrics.Page, labels ...string) {
	each := func(name, help string, value func(d Dict) float64) {
		p.Family("dict_"+name, "gauge", help)
		for _, d := range r.Dicts {
			if d.Unknown == "" {
				p.Value(value(d), append(slices.Clone(labels), "zone", d.Zone)...)
			}
		}
	}
	each("entries", "Entries of a shared dict; estimated where a part was read.", func(d Dict) float64 { return d.Entries.Estimate })
	each("expired_entries", "Entries that are kept although their time is over.", func(d Dict) float64 { return d.Expired.Estimate })
	each("entry_bytes", "Bytes that entries take, before pieces round them up.", func(d Dict) float64 { return d.Bytes.Estimate })
	each("read_ratio", "Share of the pages with entries that was read.", func(d Dict) float64 {
		if d.PagesUsed == 0 {
			return 1
		}
		return float64(d.PagesRead) / float64(d.PagesUsed)
	})
	each("evictions_per_second", "Entries that were evicted, or deleted, while they were those that are evicted next and had not expired; over the last interval.",
		func(d Dict) float64 { return d.Evicted.PerSecond })
}
