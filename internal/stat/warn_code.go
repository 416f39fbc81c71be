package stat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

const (
	// A case within this many ns of its empty twin, or this share of it, does nothing.
	deadNS    = 0.3
	deadShare = 0.42
	// An allocation that only the interpreter makes, in bytes per call.
	sunkBytes = 8
)

// warnDeadCode is an equivalence test: the whole interval lies within a margin of
// zero, that is, of the empty twin. The margin is the larger of 0.3 ns and 42 % of the
// twin's own time, as mitata has it. Where there are too few processes for an interval,
// all of them must lie there.
func warnDeadCode(f *facts) *record.Warning {
	if f.r.NSPerCall == nil {
		return nil
	}
	iv := f.r.NSPerCall.Interval
	if len(f.few) > 0 {
		levels := valuesOf(f.steady, unit.ns)
		iv.Low, iv.High = slices.Min(levels), slices.Max(levels)
	}
	margin := deadNS
	if f.r.EmptyNS != nil {
		margin = max(margin, deadShare*f.r.EmptyNS.Estimate)
	}
	if iv.Low < -margin || iv.High > margin {
		return nil
	}
	advice := "return the result or hand it to moonlap.keep(x), and vary the input from call to call"
	if f.goCode() {
		advice = "loop with for b.Loop(), which keeps arguments and results alive, or over b.N and store the result in a package variable"
	}
	return warn("dead_code",
		fmt.Sprintf("a call takes no more time than an empty function (within ± %.2g ns): "+
			"the compiler has probably removed its work", margin), advice)
}

func warnSunkAllocation(f *facts) *record.Warning {
	without := f.interpretedBytes()
	if f.r.BytesPerCall == nil || without == nil || *f.r.BytesPerCall >= 1 || *without < sunkBytes {
		return nil
	}
	return warn("sunk_allocation",
		fmt.Sprintf("only interpreted code allocates, %.0f bytes a call: "+
			"the compiler removes an object that nothing keeps", *without),
		"where your code keeps the object, hand it to moonlap.keep(x)")
}

func warnNoTwin(f *facts) *record.Warning {
	if f.r.NSPerCall == nil || f.r.EmptyNS != nil || f.goCode() { // package testing has none
		return nil
	}
	return warn("no_twin",
		"the record holds no empty twin: the cost of the loop is inside the figure",
		"run the case again with this moonlap")
}

func warnInterpreted(f *facts) *record.Warning {
	if f.r.JIT.Compiled != interpreted || len(f.ledgers()) == 0 || !f.jitOn() {
		return nil
	}
	text := "the case ran in the interpreter: nothing of it was compiled"
	advice := "see with jit.v why no trace was made; a call that ends in the interpreter takes many times longer"
	if len(f.r.JIT.Aborts) > 0 {
		a := f.r.JIT.Aborts[0]
		text += fmt.Sprintf("; recording was given up at %s: %s", at(a.Source), reasonOf(a))
		advice = remedyOf(a)
	}
	return warn("interpreted", text, advice)
}

func warnBlacklisted(f *facts) *record.Warning {
	if len(f.r.JIT.Blacklisted) == 0 {
		return nil
	}
	b := f.r.JIT.Blacklisted[0]
	more := ""
	if n := len(f.r.JIT.Blacklisted) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return warn("blacklisted",
		fmt.Sprintf("LuaJIT has given up compiling the %s at %s%s", b.What, at(b.Source), more),
		"it stays interpreted for the life of the process: remove what aborts its recording")
}

// warnAborts speaks of aborts only where they left something interpreted; most are
// tries that later succeed.
func warnAborts(f *facts) *record.Warning {
	if f.r.JIT.Compiled != partly {
		return nil
	}
	for _, a := range f.r.JIT.Aborts {
		if a.NYI == "" && !strings.Contains(a.Reason, "NYI") {
			continue
		}
		return warn("nyi",
			fmt.Sprintf("a part of the case is interpreted: %s at %s", reasonOf(a), at(a.Source)),
			remedyOf(a))
	}
	return nil
}

func at(s record.Source) string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

func reasonOf(a record.Abort) string {
	if a.NYI != "" && !strings.Contains(a.Reason, a.NYI) {
		return a.Reason + " (" + a.NYI + ")"
	}
	return a.Reason
}

// remedies are by a part of the reason, or by what is not yet implemented.
var remedies = []struct{ part, advice string }{
	{"FNEW", "a closure is made in the hot path: make it once, outside"},
	{"UCLO", "a loop closes over its own variables: move the closure out of the loop"},
	{"VARG", "use a fixed number of arguments, or select('#', ...) in a function of its own"},
	{"pairs", "iterate an array part with ipairs or a numeric loop"},
	{"next", "iterate an array part with ipairs or a numeric loop"},
	{"ITERN", "iterate an array part with ipairs or a numeric loop"},
	{"NYI", "use something that LuaJIT compiles in its place, through FFI or plain Lua"},
	{"too many", "raise the limit with jit.opt.start, or split the path"},
	{"trace too long", "shorten the path, or raise maxrecord with jit.opt.start"},
	{"blacklisted", "remove what aborts the recording of the function that is called"},
	{"C function", "call C through FFI, which compiles, and not through the Lua C API"},
	{"inner loop", "the inner loop is compiled by itself; unroll it if it is short"},
	{"leaving loop", "the loop ends too soon to be recorded: make it longer, or unroll it"},
}

func remedyOf(a record.Abort) string {
	for _, r := range remedies {
		if strings.Contains(a.NYI, r.part) || strings.Contains(a.Reason, r.part) {
			return r.advice
		}
	}
	return "change that line so that its trace can be recorded to the end"
}
