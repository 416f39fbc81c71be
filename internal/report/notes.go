package report

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// A note is one warning, however many cases it is about.
type note struct {
	advice string
	texts  []string   // distinct, as they may hold figures of the case
	whose  [][]string // the cases of each text
	run    bool       // it is about the whole run
}

// notesOf collects the warnings, those with the same code and advice as one.
func notesOf(res *record.Results) []note {
	var notes []note
	index := map[[2]string]int{}
	add := func(w record.Warning, whose string) {
		key := [2]string{w.Code, w.Advice}
		i, ok := index[key]
		if !ok {
			i = len(notes)
			index[key] = i
			notes = append(notes, note{advice: ui.Sentence(ui.Clean(w.Advice))})
		}
		n := &notes[i]
		text := ui.Sentence(ui.Clean(w.Text))
		at := slices.Index(n.texts, text)
		if at < 0 {
			at = len(n.texts)
			n.texts, n.whose = append(n.texts, text), append(n.whose, nil)
		}
		if whose == "" {
			n.run = true
		} else if !slices.Contains(n.whose[at], whose) {
			n.whose[at] = append(n.whose[at], whose)
		}
	}
	for _, w := range res.Warnings {
		if !superseded(w, res.Cases) {
			add(w, "")
		}
	}
	for _, c := range res.Cases {
		for _, w := range c.Warnings {
			add(w, ui.Clean(c.Name))
		}
	}
	for _, c := range res.Comparisons {
		for _, w := range c.Warnings {
			if w.Code == noFigureCode {
				continue
			}
			add(w, ui.Clean(c.B)+" against "+ui.Clean(c.A))
		}
	}
	return notes
}

// superseded reports that a note of a case says more than a warning of the run: by how much the machine was slowed, and when,
// beside that it may have been.
func superseded(w record.Warning, cases []record.CaseResult) bool {
	return (w.Code == "load" || w.Code == "steal") && slices.ContainsFunc(cases, func(c record.CaseResult) bool {
		return slices.ContainsFunc(c.Warnings, func(w record.Warning) bool { return w.Code == "disturbed" })
	})
}

const mostNames = 3 // of cases in a note, before the rest is counted

// lines are what a note says, without its advice.
func (n note) lines(cases int) []string {
	if len(n.texts) == 1 {
		return []string{n.texts[0] + whose(n.whose[0], n.run || cases == 1, cases)}
	}
	var out []string
	for i, text := range n.texts {
		if i == mostNames {
			out = append(out, "The same of "+ui.Plural(len(n.texts)-i, "more case.", "more cases."))
			break
		}
		out = append(out, text+whose(n.whose[i], cases == 1, cases))
	}
	return out
}

func whose(names []string, all bool, cases int) string {
	switch {
	case all || len(names) == 0:
		return ""
	case len(names) == cases:
		return " (all cases)"
	case len(names) > mostNames:
		return " (" + strings.Join(names[:mostNames], ", ") + " and " + ui.Count(len(names)-mostNames) + " more)"
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (p *page) notes(res *record.Results) {
	notes := notesOf(res)
	if len(notes) == 0 {
		return
	}
	p.Section("notes")
	plain := lipgloss.NewStyle()
	for _, n := range notes {
		for _, text := range n.lines(len(res.Cases)) {
			p.Para("  "+p.Warn.Render("!")+" ", text, plain)
		}
		p.Para("    "+p.Arrow+" ", n.advice, plain)
	}
}
