package dicts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows what is in the dicts, that first which evicts most.
func (r *Result) Text(p *ui.Page, whose string) {
	if len(r.Dicts) == 0 {
		return
	}
	all := slices.SortedStableFunc(slices.Values(r.Dicts), func(a, b Dict) int {
		return cmp.Or(cmp.Compare(b.Evicted.PerSecond, a.Evicted.PerSecond), cmp.Compare(b.Entries.Estimate, a.Entries.Estimate))
	})
	p.Section("shared dicts" + whose)
	var table [][]string
	for _, d := range all[:min(len(all), ui.MostListed)] {
		next, read := p.None, "all"
		if d.Next != nil {
			next = key(p, *d.Next)
		}
		if d.PagesRead < d.PagesUsed {
			read = ui.Percent(float64(d.PagesRead) / float64(d.PagesUsed))
		}
		out := p.Rate(d.Evicted.PerSecond)
		if d.Evicted.AtLeast {
			out = p.AtLeast + out
		}
		row := []string{p.Shorten(ui.Clean(d.Zone), 30), within(p, d.Entries), within(p, d.Expired), out, p.Rate(d.NoRoom),
			p.Size(d.Bytes.Estimate), read, next}
		if d.Unknown != "" {
			row = []string{row[0], p.None, p.None, p.None, p.None, p.None, p.None, p.None}
		}
		table = append(table, row)
	}
	p.Fitted([]string{"dict", "entries", "expired", "evicted /s", "no room /s", "size", "read", "evicted next"}, table, 7)
	p.More(len(all))
	for _, d := range all {
		if d.Unknown != "" {
			p.FaintLine("not known: " + d.Unknown)
		}
		if len(d.Largest) > 0 {
			largest(p, d)
		}
	}
}

// within writes a number, with how far it may be off where it was estimated.
func within(p *ui.Page, i record.Interval) string {
	text := fmt.Sprintf("%.0f", i.Estimate)
	if half := (i.High - i.Low) / 2; half >= 0.5 {
		text += fmt.Sprintf(" %s %.0f", p.PlusMinus, half)
	}
	return text
}

func key(p *ui.Page, e nginx.Entry) string {
	left := ""
	if e.Expired() {
		left = " (expired)"
	} else if e.Left != nil {
		left = " (for " + p.Time(float64(*e.Left)) + ")"
	}
	return p.Shorten(ui.Clean(e.Key), 40) + left
}

// largest lists the largest entries of a dict.
func largest(p *ui.Page, d Dict) {
	title := "largest entries of " + ui.Clean(d.Zone)
	if d.PagesRead < d.PagesUsed {
		title += ", of those that were read"
	}
	p.Section(title)
	var table [][]string
	for _, e := range d.Largest {
		size, left := p.Size(float64(e.Bytes)), p.None
		if e.Type == "list" {
			size = fmt.Sprintf("%d elements", e.Bytes)
		}
		if e.Expired() {
			left = "expired"
		} else if e.Left != nil {
			left = p.Time(float64(*e.Left))
		}
		table = append(table, []string{size, e.Type, left, p.Shorten(ui.Clean(e.Key), 60)})
	}
	p.Fitted([]string{"value", "type", "expires in", "key"}, table, 1, 3)
}
