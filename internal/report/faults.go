package report

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// faultWords say what happened to a case, and what to do about it.
var faultWords = map[string]struct{ what, remedy string }{
	record.FaultError: {"threw an error",
		"Correct the code at that line; the other cases are not affected."},
	record.FaultTimeout: {"did not end in time and was stopped",
		"Look for a loop that never ends, or allow more time with --timeout."},
	record.FaultCrash: {"was killed by a signal",
		"Look at FFI calls and C modules first: they alone can crash a process. --jit off shows whether the JIT takes part."},
	record.FaultExit: {"ended its own process",
		"Take os.exit and its like out of what is measured; a process ends by itself when it is done."},
	record.FaultMemory: {"reached the memory limit",
		"Look for a table that grows with each call, and empty it in setup or in run."},
	record.FaultStart: {"could not start",
		"Correct what the runtime complains about; --http-conf and --main-conf add to its configuration."},
	record.FaultChannel: {"sent a record that cannot be read",
		"The code may write to a file descriptor that is not its own; what came before was used."},
}

// goFaultWords are those that differ for Go code.
var goFaultWords = map[string]struct{ what, remedy string }{
	record.FaultError: {"failed",
		"Correct the benchmark at that line; the other cases are not affected."},
	record.FaultCrash: {"was killed by a signal",
		"Look at cgo and package unsafe first, and at what may have run out of memory."},
	record.FaultExit: {"ended its own process",
		"Take os.Exit and log.Fatal out of what is measured, and let TestMain call m.Run."},
	record.FaultMemory: {"ran out of memory",
		"Look for what grows with each call, and make it anew outside of the timed loop."},
	record.FaultStart: {"could not start",
		"The test binary lies in TMPDIR: programs must be allowed to run from there."},
	record.FaultChannel: {"hid its results",
		"Print less, whole lines, or to stderr; what could not be read was not used."},
}

// words say what happened, and what to do about it.
func (t group) words() (what, remedy string) {
	w, ok := goFaultWords[t.fault.Kind]
	if !ok || !t.goCode {
		w = faultWords[t.fault.Kind]
	}
	return w.what, w.remedy
}

// A group is one fault, however many processes it befell.
type group struct {
	fault     record.Fault
	name      string // of the case
	processes int
	goCode    bool
}

func faultsOf(cases []record.CaseResult) []*group {
	type key struct {
		kase, call, line        int
		kind, stage, text, file string
	}
	var all []*group
	index := map[key]*group{}
	for _, c := range cases {
		for _, f := range c.Faults {
			k := key{kase: c.Case.Case, call: f.Call, kind: f.Kind, stage: f.Stage, text: f.Text, file: f.File, line: f.Line}
			if index[k] == nil {
				index[k] = &group{fault: f, name: ui.Clean(c.Name), goCode: goCode(c)}
				all = append(all, index[k])
			}
			index[k].processes++
		}
	}
	return all
}

// text is the fault in a sentence or two: place, what the VM said, and what it means.
func (t group) text() string {
	f := t.fault
	said := ui.Clean(f.Said())
	if at := place(f.Source, ui.Clean); at != "" {
		said = at + ": " + strings.TrimPrefix(said, at+": ")
	}
	what, _ := t.words()
	if what == "" {
		what = "failed"
	}
	s := `The case "` + t.name + `" ` + what
	if f.Stage != "" {
		s += " in " + ui.Clean(f.Stage)
	}
	if f.Call > 0 {
		s += ", on call " + ui.Count(f.Call)
	}
	if t.processes > 1 {
		s += fmt.Sprintf(" (in %d processes)", t.processes)
	}
	return strings.TrimSuffix(said, ".") + ". " + s + "."
}

// saidRemedies are by a part of what the Lua code said.
var saidRemedies = []struct{ part, advice string }{
	{"API disabled in the c", inPhase}, {"no request found", inPhase}, {"no request ctx found", inPhase},
	{"' not found", "Say where the module is: LUA_PATH='/folder/?.lua;;', LUA_CPATH for a module in C."},
}

const inPhase = "This phase does not have it. --phase content or access runs the case inside a request; 'moonlap help bench' lists the phases."

// Remedy is what to do about what Lua code said when it failed; "": nothing is known of that.
func Remedy(said string) string {
	for _, r := range saidRemedies {
		if strings.Contains(said, r.part) {
			return r.advice
		}
	}
	return ""
}

func (t group) remedy() string {
	if known := Remedy(t.fault.Said()); known != "" {
		return known
	}
	if t.fault.Kind == record.FaultError && t.fault.Stage == "check" {
		return "The result is wrong, so its time means nothing yet: correct the code, or the check."
	}
	_, remedy := t.words()
	return remedy
}

func (p *page) faults(cases []record.CaseResult) {
	faults := faultsOf(cases)
	if len(faults) == 0 {
		return
	}
	p.Section("faults")
	plain := lipgloss.NewStyle()
	for _, t := range faults {
		p.Para("  "+p.Bad.Render(p.Cross)+" ", t.text(), plain)
		p.Para("    "+p.Arrow+" ", t.remedy(), plain)
	}
}
