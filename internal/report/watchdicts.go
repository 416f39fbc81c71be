package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/watch"
)

// watchDicts tells what is in dictionaries of Lua's, that first which throws out most.
func (p *page) watchDicts(s watch.Snapshot) {
	type one struct {
		master int
		watch.Dict
	}
	var all []one
	for _, m := range s.Masters {
		for _, d := range m.Dicts {
			all = append(all, one{m.PID, d})
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b one) int {
		return cmp.Or(cmp.Compare(b.Evicted.PerSecond, a.Evicted.PerSecond), cmp.Compare(b.Entries.Estimate, a.Entries.Estimate))
	})
	p.section("dictionaries")
	var table [][]string
	for _, d := range all[:min(len(all), mostListed)] {
		next, read := p.none, "all"
		if d.Next != nil {
			next = p.key(*d.Next)
		}
		if d.PagesRead < d.PagesUsed {
			read = percent(float64(d.PagesRead) / float64(d.PagesUsed))
		}
		out := p.rate(d.Evicted.PerSecond)
		if d.Evicted.AtLeast {
			out = p.atLeast + out
		}
		row := []string{p.shorten(clean(d.Zone), 30), p.within(d.Entries), p.within(d.Expired), out, p.rate(d.NoRoom),
			p.size(d.Bytes.Estimate), read, next, fmt.Sprint(d.master)}
		if d.Unknown != "" {
			row = []string{row[0], p.none, p.none, p.none, p.none, p.none, p.none, p.none, row[8]}
		}
		table = append(table, row)
	}
	p.fitted([]string{"dictionary", "entries", "expired", "thrown out /s", "no room /s", "size", "read", "next out", "nginx"}, table, 7)
	p.more(len(all))
	for _, d := range all {
		if d.Unknown != "" {
			p.faintLine("not known: " + d.Unknown)
		}
		if len(d.Largest) > 0 {
			p.largest(d.Dict)
		}
	}
}

// within writes a number, with how far it may be off where it was estimated.
func (p *page) within(i record.Interval) string {
	text := fmt.Sprintf("%.0f", i.Estimate)
	if half := (i.High - i.Low) / 2; half >= 0.5 {
		text += fmt.Sprintf(" %s %.0f", p.plusMinus, half)
	}
	return text
}

func (p *page) key(e nginx.Entry) string {
	left := ""
	if e.Expired() {
		left = " (expired)"
	} else if e.Left != nil {
		left = " (for " + p.time(float64(*e.Left)) + ")"
	}
	return p.shorten(clean(e.Key), 40) + left
}

// largest lists the largest entries of a dictionary.
func (p *page) largest(d watch.Dict) {
	title := "largest entries of " + clean(d.Zone)
	if d.PagesRead < d.PagesUsed {
		title += ", of those that were read"
	}
	p.section(title)
	var table [][]string
	for _, e := range d.Largest {
		size, left := p.size(float64(e.Bytes)), p.none
		if e.Type == "list" {
			size = fmt.Sprintf("%d elements", e.Bytes)
		}
		if e.Expired() {
			left = "expired"
		} else if e.Left != nil {
			left = p.time(float64(*e.Left))
		}
		table = append(table, []string{size, e.Type, left, p.shorten(clean(e.Key), 60)})
	}
	p.fitted([]string{"value", "type", "expires in", "key"}, table, 1, 3)
}
