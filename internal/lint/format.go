package lint

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// Formats are how a report can be written.
var Formats = []string{"text", "json", "sarif", "github"}

// Write writes the report in one of them.
//
// version is moonlap's.
func (r *Report) Write(w io.Writer, format, version string, rules []Rule, opt ui.Options, now time.Time) error {
	switch format {
	case "json":
		return r.json(w)
	case "sarif":
		return r.sarif(w, version, rules)
	case "github":
		return r.github(w)
	}
	return r.text(w, opt, now)
}

func (r *Report) json(w io.Writer) error {
	return jsontext.Write(w, struct {
		Schema   string           `json:"schema"`
		Kind     string           `json:"kind"`
		Warnings []record.Warning `json:"warnings"`
		*Report
	}{record.Schema, "lint", []record.Warning{}, r})
}

// text draws a finding a line, as compilers do, with its price below.
func (r *Report) text(w io.Writer, opt ui.Options, now time.Time) error {
	p := ui.NewPage(opt)
	byProfile := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Heat.From == "profile" })
	for _, f := range r.Findings {
		// Places are not wrapped: editors and terminals find them so.
		p.Line(fmt.Sprintf("%s:%d:%d: %s%s [%s]", ui.Clean(f.File), f.Line, f.Column, ui.When(f.Level != Warning, f.Level+": "), ui.Clean(f.Message), f.Rule))
		var facts []string
		if f.Price != nil {
			facts = append(facts, f.Price.Text(p.Glyphs, now))
		}
		if f.Heat.From == "profile" {
			facts = append(facts, f.Heat.text(p.Glyphs))
			if f.Gain != nil {
				facts = append(facts, f.Gain.text(p.Glyphs))
			}
		} else if guess := f.Heat.guess(); guess != "" {
			facts = append(facts, guess)
		}
		if len(facts) > 0 {
			p.FaintLine("  " + p.Join(facts...))
		}
	}
	if len(r.Findings) > 0 {
		p.Blank()
	}
	summary := fmt.Sprintf("%s in %s, %s of Lua", ui.Plural(len(r.Findings), "finding", "findings"),
		ui.Plural(r.Files, "file", "files"), ui.Plural(r.Lines, "line", "lines"))
	if r.Known > 0 {
		summary += fmt.Sprintf("; %s in the baseline", ui.Count(r.Known))
	}
	p.Para("", summary, p.Faint)
	if len(r.Findings) > 0 {
		p.Para("", "'moonlap lint --why RULE' explains a rule, and when it is no problem.", p.Faint)
		if !byProfile {
			p.Para("", "The order is a guess, by class of code and loops: a price is that of one call, and --profile shows which lines are hot.", p.Faint)
		}
	}
	if len(r.Silent) > 0 {
		n := 0
		for _, count := range r.Silent {
			n += count
		}
		p.Para("", fmt.Sprintf("Silent, as their pairs show no difference: %s (%s; --all shows them).",
			strings.Join(slices.Sorted(maps.Keys(r.Silent)), ", "), ui.Plural(n, "place", "places")), p.Faint)
	}
	return p.Write(w)
}

// github writes workflow commands, which GitHub shows at the lines of a pull request.
func (r *Report) github(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", annotations[f.Level], property(f.File), f.Line, f.Column,
			property("moonlap "+f.Rule), data(f.Message))
	}
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "::error file=%s,line=%d,col=%d::%s\n", property(f.File), max(f.Line, 1), max(f.Column, 1), data(f.Message))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// annotations are GitHub's names of levels.
var annotations = map[string]string{Error: "error", Warning: "warning", Note: "notice"}

// data and property escape as github.com/actions/toolkit does, in packages/core/src/command.ts.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
)

// project is where moonlap is from.
const project = "https://github.com/moonlap/moonlap"

// sarif writes SARIF 2.1.0.
func (r *Report) sarif(w io.Writer, version string, rules []Rule) error {
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID    string `json:"id"`
		Short text   `json:"shortDescription"`
		Full  text   `json:"fullDescription"`
	}
	type object = map[string]any
	known := []rule{{ID: "ignore", Short: text{"A comment that ignores a rule is wrong"}, Full: text{"A comment that ignores a rule is wrong"}}}
	for _, one := range rules {
		known = append(known, rule{one.Name, text{one.Title()}, text{one.About}})
	}
	results, columns := []object{}, linesOf{}
	for _, f := range r.Findings {
		results = append(results, object{
			"ruleId": f.Rule, "level": f.Level, "message": text{f.Message},
			"locations":  []object{location(f.File, f.Line, columns.column(f.File, f.Line, f.Column))},
			"properties": object{"class": f.Class, "heat": f.Heat, "price_ns": f.PriceNS},
		})
	}
	notes := []object{}
	for _, f := range r.Faults {
		note := object{"level": "error", "message": text{f.Message}}
		if f.File != "" {
			note["locations"] = []object{location(f.File, max(f.Line, 1), max(f.Column, 1))}
		}
		notes = append(notes, note)
	}
	return jsontext.Write(w, object{
		"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"runs": []object{{
			"tool":        object{"driver": object{"name": "moonlap lint", "version": version, "informationUri": project, "rules": known}},
			"columnKind":  "utf16CodeUnits",
			"results":     results,
			"invocations": []object{{"executionSuccessful": len(r.Faults) == 0, "toolExecutionNotifications": notes}},
		}},
	})
}

func location(file string, line, column int) map[string]any {
	uri := (&url.URL{Path: filepath.ToSlash(file)}).String()
	return map[string]any{"physicalLocation": map[string]any{
		"artifactLocation": map[string]any{"uri": uri},
		"region":           map[string]any{"startLine": line, "startColumn": column},
	}}
}
