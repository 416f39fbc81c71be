package lint

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/evidence/compiler"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// Interpreted is the rule of code that a profile saw interpreted, where no other rule explains why.
const Interpreted = "interpreted"

// explains are the rules that say more of what LuaJIT does not compile: a bytecode, or a function that is called.
var explains = map[string]string{
	"FNEW": "closure-in-loop", "UCLO": "closure-in-loop", "unpack": "unpack", "table.unpack": "unpack", "string.gmatch": "gmatch",
	"error": "error-flow", "ffi.typeof": "ffi-type-built", "string.find": "find-plain", "table.insert": "table-front",
	"table.remove": "table-front", "ngx.log": "eager-log", "io.open": "blocking-call",
}

// explain puts what a profile knows of the compiler at the lines of the files that were linted: code that was interpreted, why,
// and the rule that explains it. One that found the same line gets it as heat.
func (r *Report) explain(p *profile.Profile, on []Rule) {
	known, ok := p.Evidence[compiler.Name].(*compiler.Result)
	if !ok {
		return
	}
	names := map[string]bool{}
	for _, rule := range on {
		names[rule.Name] = true
	}
	for _, root := range known.Roots {
		o, ok := root.Origin()
		if !ok || o.Line == 0 {
			continue
		}
		at := place{o.File, o.Line}.inConf()
		file, class := r.sourceOf(at.file)
		if file == "" {
			continue
		}
		at.file = file
		root = root.Moved(at.line - o.Line)
		rule := cmp.Or(explains[o.Called], explains[o.Code], Interpreted)
		if !names[rule] {
			rule = Interpreted
		}
		if !names[rule] || r.ignored[ignore{at, rule}] || r.ignored[ignore{place{at.file, 0}, rule}] {
			continue
		}
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == rule && f.File == at.file && f.Line == at.line })
		if i >= 0 {
			r.Findings[i].Heat.Interpreted += root.Share
			continue
		}
		message := "interpreted: " + root.Because(strings.Join)
		if root.Remedy != "" {
			message += "; " + root.Remedy
		}
		f := Finding{Rule: rule, File: at.file, Line: at.line, Column: 1, Message: message, Level: Warning, Class: class,
			Heat: Heat{From: "profile", Interpreted: root.Share}}
		if root.Usual() {
			f.Level = Note
		}
		f.priced(r.prices)
		r.Findings = append(r.Findings, f)
	}
}

// sourceOf is the linted file that a profile means, and its class; "" where none is, or several may be.
func (r *Report) sourceOf(named string) (file, class string) {
	most, several := 0, false
	for _, s := range r.sources {
		if filepath.Base(s.file) != filepath.Base(named) {
			continue
		}
		absolute, err := filepath.Abs(s.file)
		if err != nil {
			absolute = s.file
		}
		switch n := alike(absolute, named); {
		case n > most:
			file, class, most, several = s.file, s.class, n, false
		case n == most && s.file != file:
			several = true
		}
	}
	if several || most == 1 && another(named, file) {
		return "", ""
	}
	return file, class
}

// another reports whether a profile's file is known to be another than the linted one, with which it shares only its last name:
// it is on this machine, too, or it is of lua-resty-core, which runs in every nginx with Lua.
func another(named, linted string) bool {
	if strings.Contains(filepath.ToSlash(named), "/resty/core/") {
		return true
	}
	a, err := os.Stat(named)
	if err != nil || !filepath.IsAbs(named) {
		return false
	}
	b, err := os.Stat(linted)
	return err == nil && !os.SameFile(a, b)
}

// guess is what is known of a line without a profile, beyond its class.
func (h Heat) guess() string {
	switch {
	case h.Cold:
		return "where a failure is reported"
	case h.Loops == 1:
		return "in a loop"
	case h.Loops > 1:
		return fmt.Sprintf("in %d loops", h.Loops)
	}
	return ""
}

// text is what the profile says of a line.
func (h Heat) text(g ui.Glyphs) string {
	var parts []string
	if h.Share > 0 {
		parts = append(parts, ui.Percent(h.Share)+" of the profile's time in this line")
	}
	if h.Interpreted > 0 {
		parts = append(parts, ui.Percent(h.Interpreted)+" interpreted for it")
	}
	switch {
	case len(parts) == 0 && h.Tail != "":
		return "a tail call, whose time a profile has at its caller's line"
	case len(parts) > 0 && h.Alike > 0:
		parts[0] += ", or in " + ui.Plural(h.Alike, "tail call", "tail calls") + " alike"
	}
	return cmp.Or(strings.Join(parts, g.Dot), "cold in the profile")
}

// text is the gain in words: "about 9.8 µs (7.1–12) of a request's 31 µs to gain".
func (g *Gain) text(of ui.Glyphs) string {
	share := record.Interval{Estimate: g.Share, Low: g.Low, High: g.High}
	if g.NS == 0 {
		return fmt.Sprintf("about %s of the time to gain", of.ShareRange(share))
	}
	total := g.NS / g.Share
	return fmt.Sprintf("about %s (%s) of a request's %s to gain", of.Time(g.NS),
		of.TimeRange(record.Interval{Estimate: g.NS, Low: g.Low * total, High: g.High * total}), of.Time(total))
}
