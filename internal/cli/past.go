package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/whole"
	"github.com/moonlap/moonlap/internal/store"
	"github.com/moonlap/moonlap/internal/ui"
)

// pastFlags say what becomes of a run in the history, and what it is compared with there.
type pastFlags struct {
	historyPlace
	save, baseline string
	anyway         bool
}

func (p *pastFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&p.save, "save", "", "keep the run in the history under this `NAME`")
	f.StringVar(&p.baseline, "baseline", "", "compare with the newest run of the same file under this `NAME`")
	f.BoolVar(&p.anyway, "baseline-anyway", false, "also when machine, VM or environment are not the same")
	p.historyPlace.addFlags(f)
}

// A historyPlace is where a history is: its records, and the index of them.
type historyPlace struct{ file, index string }

func (p *historyPlace) addFlags(f *pflag.FlagSet) {
	f.StringVar(&p.index, "index", "", "the index of the history in PostgreSQL, which several\nshare: postgres://USER@HOST/DATABASE, as a `URL`")
	f.StringVar(&p.file, "history", "", "`FILE` of the history; FOLDER/, git:URL#BRANCH or\ns3://BUCKET/PREFIX is one that several share\n(default: moonlap/history.db in $XDG_DATA_HOME)")
}

const longestName = 100

func (p *pastFlags) check() error {
	return errors.Join(checkName("--save", p.save), checkName("--baseline", p.baseline))
}

// checkName refuses names that would spoil a list; "" is none.
func checkName(flag, name string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) ||
		strings.TrimSpace(name) != name || len(name) > longestName {
		return usageErrorf("%s %q: a name is one line of at most %d bytes, without space around it", flag, name, longestName)
	}
	return nil
}

// open is the history at a place, or where it is by default.
func (p historyPlace) open(sys Sys) (*store.Store, error) {
	file := p.file
	if file == "" {
		var err error
		if file, err = store.Place(sys.Getenv); err != nil {
			return nil, err
		}
	}
	s, err := store.At(file, sys.Getenv)
	if err != nil {
		return nil, usageErrorf("--history %w", err)
	}
	if p.index != "" {
		if err := s.SetIndex(p.index); err != nil {
			return nil, usageErrorf("--index: %w", err)
		}
	}
	s.Place = withoutSecrets(s.Place)[0]
	s.Summarize, s.Note = summarize, noting(sys)
	return s, nil
}

// noting is note for rooms that know no Sys.
func noting(sys Sys) func(string) { return func(text string) { note(sys, text) } }

func note(sys Sys, text string) { fmt.Fprintln(sys.Stderr, "moonlap: "+ui.Harmless(text)) }

// summarize makes the results of a record, whichever command wrote it.
func summarize(rec *record.Record) *record.Results {
	switch rec.Run.Kind {
	case record.KindTime:
		return whole.Summarize(rec).Results
	case record.KindLoad:
		return load.Summarize(rec).Results
	}
	return stat.Summarize(rec)
}

// A past is the history of a run that is being measured: the record that is drafted, and
// the baseline that it must match.
type past struct {
	pastFlags
	sys      Sys
	bench    string            // bench file
	rule     *record.Comparing // of comparisons with the baseline
	store    *store.Store
	draft    *store.Draft // nil: the run is not saved
	spoilt   error        // a line that could not be drafted
	baseline *record.Record

	everywhere []record.Difference // from the baseline, of all cases
	matched    map[int]*matched    // by number of the run's case
}

// matched is a case of the run that the baseline has too.
type matched struct {
	name    string
	then    record.Case
	seen    bool // its first process
	differs []record.Difference
}

// begin finds the baseline of a bench file, or of what load is put on. Without --save and --baseline there is
// nothing to do, then or later.
func (p pastFlags) begin(ctx context.Context, sys Sys, kind, bench string, rule *record.Comparing) (*past, error) {
	run := &past{pastFlags: p, sys: sys, bench: bench, rule: rule, matched: map[int]*matched{}}
	if p.save == "" && p.baseline == "" {
		return run, nil
	}
	var err error
	if run.store, err = p.open(sys); err != nil {
		return nil, err
	}
	if p.save != "" {
		run.draft = store.NewDraft()
	}
	if p.baseline != "" {
		run.baseline, err = run.store.Baseline(ctx, p.baseline, bench, kind)
	}
	return run, err
}

// sign adds to the opening of a record what the history goes by.
func (p *past) sign(opening record.Run) record.Run {
	opening.File, opening.SavedAs = p.bench, p.save
	return opening
}

// watch lets a run's lines pass to write. It ends the run with a [refusal] as soon as one
// says that the baseline was measured under other conditions.
func (p *past) watch(write func(record.Line) error) func(record.Line) error {
	return func(l record.Line) error {
		if p.draft != nil && p.spoilt == nil {
			p.spoilt = p.draft.Write(l)
		}
		if p.baseline != nil {
			if err := p.match(l); err != nil {
				return err
			}
		}
		return write(l)
	}
}

// match holds a line against its like in the baseline.
func (p *past) match(l record.Line) error {
	var differs []record.Difference
	switch l := l.(type) {
	case record.Run:
		differs = store.Differ(store.Facts(p.baseline.Run), store.Facts(l))
		p.everywhere = append(p.everywhere, differs...)
	case record.Runtime:
		if then := p.baseline.Runtime; then != nil {
			differs = store.Differ(store.Facts(*then), store.Facts(l))
			p.everywhere = append(p.everywhere, differs...)
		}
	case record.Case:
		at := slices.IndexFunc(p.baseline.Cases, func(c record.Case) bool { return c.Name == l.Name })
		if at >= 0 {
			then := p.baseline.Cases[at]
			differs = store.Differ(store.Facts(then), store.Facts(l))
			p.matched[l.Case] = &matched{name: l.Name, then: then, differs: differs}
		}
	case record.Process:
		if len(p.matched) == 0 {
			return refusal(fmt.Sprintf("the baseline %q has no case of this run; it has %s", p.baseline.Run.SavedAs, names(p.baseline.Cases)))
		}
		m := p.matched[l.Case]
		if m == nil || m.seen {
			break
		}
		m.seen = true
		if then := p.baseline.Of(m.then.Case); len(then) > 0 {
			differs = store.Differ(store.Facts(then[0].Process), store.Facts(l))
			m.differs = append(m.differs, differs...)
		}
	}
	if len(differs) == 0 || p.anyway {
		return nil
	}
	return refuse(p.baseline.Run.SavedAs, differs)
}

// A refusal is why a run is not compared with its baseline.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(name string, differs []record.Difference) error {
	text := fmt.Sprintf("the baseline %q was not measured under this run's conditions:\n", name)
	for _, d := range differs {
		text += fmt.Sprintf("  %s: %s then, %s now\n", d.What, d.A, d.B)
	}
	return refusal(text + fmt.Sprintf("measure it again here with --save %s, or compare all the same with --baseline-anyway", name))
}

func names(cases []record.Case) string {
	var list []string
	for _, c := range cases {
		list = append(list, c.Name)
	}
	return strings.Join(list, ", ")
}

// compare adds the comparisons with the baseline to the results.
func (p *past) compare(results *record.Results) {
	if p.baseline == nil {
		return
	}
	b := stat.Baseline{
		Name: p.pastFlags.baseline, Started: p.baseline.Run.Started, Commit: p.baseline.Run.Environment.GitCommit,
		Results: summarize(p.baseline), Elsewhere: map[string][]record.Difference{},
	}
	for _, m := range p.matched {
		b.Elsewhere[m.name] = slices.Concat(p.everywhere, m.differs)
	}
	comparisons, warnings := b.Against(results, *p.rule)
	results.Comparisons = append(results.Comparisons, comparisons...)
	results.Warnings = append(results.Warnings, warnings...)
}

// keep puts the run into the history, where it was asked for; failed is what the gate says
// of it.
func (p *past) keep(ctx context.Context, results *record.Results, failed error) error {
	switch {
	case p.draft == nil:
		return nil
	case p.spoilt != nil:
		return fmt.Errorf("the run is not saved as %s: %w", p.save, p.spoilt)
	case !store.HasFigure(results):
		note(p.sys, fmt.Sprintf("not saved as %s, as no case has a figure", p.save))
		return nil
	case failed != nil && p.save == p.pastFlags.baseline:
		note(p.sys, fmt.Sprintf("not saved as %s: what fails the gate is no new baseline", p.save))
		return nil
	}
	if _, err := p.store.Keep(ctx, p.draft); err != nil {
		return err
	}
	note(p.sys, fmt.Sprintf("saved as %s in %s", p.save, p.store.Place))
	return nil
}

// finish is what becomes of a run that has results: they are compared with the baseline, reported, judged by a gate, and kept in
// the history. err is why the run ended early, if it did; outcome is the exit code that the results deserve.
func (p *past) finish(ctx context.Context, results *record.Results, report, gate func() error, outcome, err error) error {
	p.compare(results)
	if reportErr := report(); reportErr != nil || err != nil {
		return errors.Join(err, reportErr)
	}
	failed := gate()
	if err := p.keep(ctx, results, failed); err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	return outcome
}

// refused reports whether a run ended because its baseline does not fit.
func refused(err error) bool { return errors.As(err, new(refusal)) }
