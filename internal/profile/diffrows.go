package profile

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
)

// A Row is one thing whose share was compared.
type Row struct {
	Name          string // function@file.lua, with :line for lines; frames with ";" between them for stacks
	Place         string // file; "" for stacks
	Before, After int64  // samples
	Change        stat.ShareChange
}

// LuaLines compares the innermost Lua lines: where Lua's time went.
func (d *Diff) LuaLines() []Row {
	return d.rows(func(frames []Frame) []string {
		if f, ok := innermostLua(frames); ok {
			f.Compiled = false
			return []string{placed(f)}
		}
		return nil
	})
}

// Functions compares functions, with all that they called.
func (d *Diff) Functions() []Row {
	byFunction := *d
	byFunction.Lines = false
	return d.rows(func(frames []Frame) []string {
		var names []string
		for _, f := range frames {
			names = append(names, placed(byFunction.frame(f)))
		}
		return names
	})
}

// Stacks compares whole stacks.
func (d *Diff) Stacks() []Row {
	return d.rows(func(frames []Frame) []string { return []string{d.folded(frames)} })
}

// placed is a frame's name, which is unique in a file only, with its file.
func placed(f Frame) string { return f.Name() + "\x00" + f.File }

// rows compares the shares of what keys makes of the stacks. What is in every stack has no share of
// its own, and is left out.
func (d *Diff) rows(keys func([]Frame) []string) []Row {
	seen, before, after := d.count(keys)
	var all []Row
	var a, b []stat.Seen
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		p := seen[key]
		row := Row{Before: sum(p.before), After: sum(p.after)}
		row.Name, row.Place, _ = strings.Cut(key, "\x00")
		if row.Before == sum(before.of) && row.After == sum(after.of) {
			continue
		}
		all = append(all, row)
		a = append(a, stat.Seen{Count: p.before, Of: before.of})
		b = append(b, stat.Seen{Count: p.after, Of: after.of})
	}
	for i, c := range stat.CompareShares(a, b) {
		all[i].Change = c
	}
	ordered(all)
	return all
}

// WriteJSON writes every row of the difference.
func (d *Diff) WriteJSON(to io.Writer) error {
	type profile struct {
		Title      string    `json:"title"`
		Start      time.Time `json:"start"`
		DurationNS int64     `json:"duration_ns"`
		Samples    int64     `json:"samples"`
	}
	type row struct {
		Name     string          `json:"name"`
		Place    string          `json:"place,omitempty"`
		Before   int64           `json:"before"` // samples
		After    int64           `json:"after"`
		Change   record.Interval `json:"change"` // of the share
		P        float64         `json:"p"`      // corrected for the number of rows of its list
		Distinct bool            `json:"distinct"`
	}
	valid := func(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
	list := func(rows []Row) []row {
		all := []row{}
		for _, r := range rows {
			all = append(all, row{valid(r.Name), valid(r.Place), r.Before, r.After, r.Change.Change, r.Change.P, r.Change.Distinct})
		}
		return all
	}
	about := func(p *Profile) profile {
		return profile{p.Title, p.Start, p.Duration.Nanoseconds(), p.Total()}
	}
	encode := jsontext.NewEncoder(to)
	return encode.Encode(struct {
		Schema    string  `json:"schema"`
		Kind      string  `json:"kind"`
		Title     string  `json:"title"`
		Before    profile `json:"before"`
		After     profile `json:"after"`
		LuaLines  []row   `json:"lua_lines"`
		Functions []row   `json:"functions"`
		Stacks    []row   `json:"stacks"`
	}{record.Schema, "profile-diff", d.Title, about(d.Before), about(d.After), list(d.LuaLines()), list(d.Functions()), list(d.Stacks())})
}
