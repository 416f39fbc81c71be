// Package report draws results for people: in a terminal, and as Markdown. It
// computes no statistics; every figure it shows stands in the results.
package report

import (
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// Terminal draws the report of a run: what was measured, a line a case, the cases in
// detail, comparisons, then notes and faults. Its only error is that of w.
func Terminal(w io.Writer, res *record.Results, opt ui.Options) error {
	p := newPage(opt)
	p.head(res)
	if len(res.Cases) > 0 {
		p.Blank()
		p.cases(res.Cases)
		p.scaling(res.Cases)
		p.details(res.Cases, res.Kind == "compare")
	}
	p.comparisons(res.Comparisons)
	p.notes(res)
	p.faults(res.Cases)
	p.footer(res)
	return p.Write(w)
}

// details draws each case on its own, or, of many, those that need a look. Where verdicts
// are what was asked for, others are left out without a word.
func (p *page) details(cases []record.CaseResult, verdicts bool) {
	left := 0
	for _, c := range cases {
		if (verdicts || len(cases) > p.Options.Detail) && !needsLook(c) {
			left++
			continue
		}
		p.caseDetail(c)
	}
	if verdicts {
		return
	}
	if left > 0 && left < len(cases) {
		p.Blank()
		p.Para("", fmt.Sprintf("%s without detail, as nothing about them stands out; --filter shows one alone.",
			ui.Plural(left, "case is", "cases are")), p.Faint)
	} else if left > 0 {
		p.Blank()
		p.Para("", "With so many cases the histograms are left out; --filter shows one alone.", p.Faint)
	}
}

func needsLook(c record.CaseResult) bool {
	return len(c.Modes) > 1 || len(c.Faults) > 0 || c.Laps != nil || c.NSPerCall == nil
}

// footer says last, where it is read first, that a result is not whole.
func (p *page) footer(res *record.Results) {
	if res.Complete {
		return
	}
	none := 0
	for _, c := range res.Cases {
		if c.NSPerCall == nil && c.Laps == nil {
			none++
		}
	}
	text := "Partial result: the run did not end as planned."
	if none > 0 {
		have := "have"
		if none == 1 {
			have = "has"
		}
		text = fmt.Sprintf("Partial result: %d of %s %s no figure.", none, ui.Plural(len(res.Cases), "case", "cases"), have)
	}
	p.Blank()
	p.Para("", text, p.Bad)
}
