package record

import (
	"fmt"
	"reflect"
	"slices"
)

// Record is a whole record: the plan, and what each process said.
type Record struct {
	Run       Run
	Runtime   *Runtime // nil until its line was read
	Cases     []Case   // the plan, in order of their numbers' appearance
	Processes []*ProcessRecord
	Faults    []Fault   // of no process that began: a file that does not load, a server that does not start
	Exits     []Exit    // of processes that ended before their first line
	Profiles  []Profile // at most one a case
	Load      LoadRecord
	End       *End // nil when the record was cut off
	// Spoiled is why the rest of the record could not be read.
	Spoiled error
	// Skipped counts what a newer moonlap wrote and this one does not know; see
	// [Reader.Skipped].
	Skipped map[string]int
}

// ProcessRecord is what one VM said: a process, or one worker of a process.
type ProcessRecord struct {
	Process Process
	Batches []Batches
	Laps    []Laps
	Metrics []Metric
	Memory  *Memory // these are nil when there was no such line; of several, the last
	JIT     *JIT
	Finish  *Finish
	Exit    *Exit // shared by all workers of a process
	Faults  []Fault
}

// Complete reports whether the record was read to its end and the run was neither cut
// off nor interrupted.
func (r *Record) Complete() bool {
	return r.Spoiled == nil && r.End != nil && r.End.Reason == "complete"
}

// Of returns the processes that ran a case, in order of start.
func (r *Record) Of(caseNumber int) []*ProcessRecord {
	var of []*ProcessRecord
	for _, p := range r.Processes {
		if p.Process.Case == caseNumber {
			of = append(of, p)
		}
	}
	return of
}

// FaultsOf returns the faults of a case: those of its processes, and those of
// processes that did not begin. For -1 it returns the faults that belong to no case.
func (r *Record) FaultsOf(caseNumber int) []Fault {
	var of []Fault
	if caseNumber >= 0 {
		for _, p := range r.Of(caseNumber) {
			of = append(of, p.Faults...)
		}
	}
	for _, f := range r.Faults {
		if f.Case == caseNumber {
			of = append(of, f)
		}
	}
	return of
}

// ProfileOf returns the profile of a case, or nil.
func (r *Record) ProfileOf(caseNumber int) *Profile {
	for i := range r.Profiles {
		if r.Profiles[i].Case == caseNumber {
			return &r.Profiles[i]
		}
	}
	return nil
}

// Add appends a line, as a value or a pointer. A line that cannot stand where it
// does is a [*FormatError] without file and line, and is left out.
func (r *Record) Add(l Line) error {
	if text := r.add(l); text != "" {
		return &FormatError{Text: text, Advice: adviceBefore}
	}
	return nil
}

func (r *Record) add(l Line) string {
	l = value(l)
	if _, ok := l.(Run); !ok && r.Run.Schema == "" {
		return fmt.Sprintf("a record begins with a run line, and this is a %s line", l.Type())
	}
	if r.End != nil {
		return fmt.Sprintf("a %s line behind the end line: are these two records in one file?", l.Type())
	}
	switch l := l.(type) {
	case Run:
		if r.Run.Schema != "" {
			return "a second run line: are these two records in one file?"
		}
		r.Run = l
	case Runtime:
		r.Runtime = &l
	case Case:
		if r.hasCase(l.Case) {
			return fmt.Sprintf("a second case with the number %d", l.Case)
		}
		r.Cases = append(r.Cases, l)
	case Process:
		if r.find(l.In) != nil {
			return fmt.Sprintf("%s begins twice", nameOf(l.In))
		}
		if !r.hasCase(l.Case) {
			return fmt.Sprintf("%s runs case %d, which is not in the plan", nameOf(l.In), l.Case)
		}
		r.Processes = append(r.Processes, &ProcessRecord{Process: l})
	case Fault:
		if p := r.find(l.In); p != nil {
			p.Faults = append(p.Faults, l)
		} else {
			r.Faults = append(r.Faults, l)
		}
	case Exit:
		r.exit(l)
	case Profile:
		switch {
		case !r.hasCase(l.Case):
			return fmt.Sprintf("a profile of case %d, which is not in the plan", l.Case)
		case r.ProfileOf(l.Case) != nil:
			return fmt.Sprintf("a second profile of case %d", l.Case)
		}
		r.Profiles = append(r.Profiles, l)
	case End:
		r.End = &l
	default:
		if r.Load.add(l) {
			break
		}
		return r.addToProcess(l)
	}
	return ""
}

// addToProcess files the lines that only a process which has begun can write.
func (r *Record) addToProcess(l Line) string {
	written, ok := l.(interface{ by() In })
	if !ok {
		return fmt.Sprintf("a line of type %q, which no record holds", l.Type())
	}
	in := written.by()
	p := r.find(in)
	if p == nil {
		return fmt.Sprintf("a %s line of %s, which has not begun", l.Type(), nameOf(in))
	}
	switch l := l.(type) {
	case Batches:
		p.Batches = append(p.Batches, l)
	case Laps:
		p.Laps = append(p.Laps, l)
	case Metric:
		p.Metrics = append(p.Metrics, l)
	case Memory:
		p.Memory = &l
	case JIT:
		p.JIT = &l
	case Finish:
		p.Finish = &l
	}
	return ""
}

func (r *Record) exit(l Exit) {
	began := false
	for _, p := range r.Processes {
		if p.Process.Process == l.Process {
			p.Exit, began = &l, true
		}
	}
	if !began {
		r.Exits = append(r.Exits, l)
	}
}

func (r *Record) hasCase(number int) bool {
	return slices.ContainsFunc(r.Cases, func(c Case) bool { return c.Case == number })
}

// find searches from the end, where the processes that still run are.
func (r *Record) find(in In) *ProcessRecord {
	for _, p := range slices.Backward(r.Processes) {
		if p.Process.In == in {
			return p
		}
	}
	return nil
}

func (r *Record) spoil(err error) error {
	r.Spoiled = err
	return err
}

// nameOf names a process for people. It is no String method, because every line type
// would inherit that from In.
func nameOf(in In) string {
	if in.Worker == 0 {
		return fmt.Sprintf("process %d", in.Process)
	}
	return fmt.Sprintf("process %d, worker %d", in.Process, in.Worker)
}

// by is the process, and the worker, that wrote the line which embeds it.
func (in In) by() In { return in }

// value is the line itself where l is a pointer to it.
func value(l Line) Line {
	if v := reflect.ValueOf(l); v.Kind() == reflect.Pointer {
		return v.Elem().Interface().(Line)
	}
	return l
}
