package explain

import (
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/regexes"
	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// Shares from which on something is reported. They are for words only; the shares themselves are shown.
const (
	nearlyAll = 0.95
	much      = 0.25
	some      = 0.05
)

// Explain explains at least one sample.
func Explain(l sample.Series) *profile.Profile {
	p, parts := describe(l)
	found := Findings(findings(*parts, l, observe.WithLua(l.Samples)))
	p.Evidence[Name] = &found
	return p
}

// describe is what samples say by counting.
func describe(l sample.Series) (*profile.Profile, *shares.Result) {
	p, _ := l.Profile(sample.Wall, profile.Samples)
	p.By = "ptrace"
	parts := shares.Of(l)
	p.Evidence[shares.Name] = parts
	evidence.Put(p.Evidence, locks.InSamples, locks.WaitsOf(l))
	evidence.Put(p.Evidence, regexes.Name, regexes.Of(l))
	return p, parts
}

func findings(e shares.Result, l sample.Series, lua []sample.Sample) []Finding {
	var all []Finding
	if f, ok := blocked(l.Samples, lua); ok {
		all = append(all, f)
	}
	switch f, isStuck := stuck(l, lua, e.Lua); {
	case halted(l.Samples):
		all = append(all, Finding{"halted", "A signal has stopped the worker (SIGSTOP, or ^Z in its terminal): it does nothing.",
			"let it go on with kill -CONT and its process ID"})
	case isStuck && len(all) == 0:
		all = append(all, f)
	case e.Lua == 0 && l.CPU < some:
		all = append(all, Finding{idle, "The worker is idle: it waits for events, and runs no Lua.",
			"If requests hang all the same, they wait for something outside: an upstream, a timer, a lock in another worker."})
	case e.Lua < l.CPU/2 && l.CPU > much:
		all = append(all, busyInC(l.Samples))
	case len(all) == 0:
		all = append(all, busy(e, l.CPU))
	}
	return append(all, inside(e)...)
}

// halted: a signal keeps the worker stopped, in most samples: it needs a moment to stop again after one.
func halted(samples []sample.Sample) bool {
	n := 0
	for _, s := range samples {
		if s.Halted {
			n++
		}
	}
	return n > len(samples)/2
}

// blocked: the worker sleeps while Lua is on its stack, so no other request is served.
func blocked(samples, lua []sample.Sample) (Finding, bool) {
	asleep := slices.DeleteFunc(slices.Clone(lua), func(s sample.Sample) bool { return !s.Asleep })
	share := float64(len(asleep)) / float64(len(samples))
	stack := typical(asleep, nil)
	if share < some || len(asleep) < 2 || len(stack) == 0 {
		return Finding{}, false
	}
	caller := sample.InnermostLua(stack)
	what := stack[0].Function
	for _, f := range stack { // what Lua called: the outermost of the frames above it
		if f.Kind == profile.Lua {
			break
		}
		if f.Kind == profile.Builtin || f.File == "" {
			what = f.Function
		}
	}
	return Finding{"blocked",
		fmt.Sprintf("The event loop was blocked in %.0f %% of the samples: %s put the worker to sleep in %s (%s); no other request is served meanwhile.",
			100*share, caller.Where(), what, stack[0].Function),
		sleeps.Advice(what)}, true
}

// stuck: one and the same request ran Lua all the time, and the event loop did not turn. Without that
// it may have been many requests after one another: nginx uses a request's memory again.
func stuck(l sample.Series, lua []sample.Sample, share float64) (Finding, bool) {
	if share < nearlyAll || len(lua) < 2 {
		return Finding{}, false
	}
	first, turn := lua[0].Request, lua[0].Turn
	for _, s := range lua {
		if s.Request.Address != first.Address || s.Request.URI != first.URI || s.Turn != turn {
			return Finding{}, false
		}
	}
	f := Finding{"stuck",
		fmt.Sprintf("One run of Lua (%s) held the worker for all of the %.1f s; every other request waits.",
			shares.Request(lua[0]), l.Elapsed.Seconds()),
		"sample again with a longer --duration: if it is still there, it is an endless loop; if it is meant, " +
			"give the event loop a turn now and then with ngx.sleep(0)"}
	if loop, ok := common(lua); ok {
		f.Text += fmt.Sprintf(" All of it was inside %s.", loop.Where())
	}
	return f, true
}

func busyInC(samples []sample.Sample) Finding {
	top := observe.Shares(sample.Series{}, samples, float64(len(samples)), func(s sample.Sample) string {
		if s.Lua || s.Asleep || len(s.Stack) == 0 {
			return ""
		}
		return s.Stack[0].Function + " in " + s.Stack[0].File
	})
	text := "The worker is busy in C code, outside of Lua."
	if len(top) > 0 {
		text += fmt.Sprintf(" Most often in %s (%.0f %% of the samples).", top[0].Name, 100*top[0].Share)
	}
	return Finding{"busy_in_c", text, "see the stack below for what nginx was doing: TLS, compression, a filter, a log"}
}

func busy(e shares.Result, cpu float64) Finding {
	text := fmt.Sprintf("The worker used %.0f %% of a processor and ran Lua in %.0f %% of the samples.", 100*cpu, 100*e.Lua)
	if len(e.Lines) > 0 {
		text += fmt.Sprintf(" Most often at %s (%.0f %%).", e.Lines[0].Name, 100*e.Lines[0].Share)
	}
	return Finding{"busy", text, "measure that function with moonlap bench, and a change to it with moonlap compare"}
}

// inside tells what Lua itself spends its time with.
func inside(e shares.Result) []Finding {
	var all []Finding
	if e.Lua < much {
		return nil
	}
	for _, s := range e.States {
		switch {
		case s.Name == luajit.Collect.String() && s.Share >= much:
			all = append(all, Finding{"garbage", fmt.Sprintf("Lua's garbage collector takes %.0f %% of Lua's time.", 100*s.Share),
				"measure the bytes per call of a function with moonlap bench; reuse tables, and build strings with table.concat"})
		case s.Name == luajit.Interpreted.String() && s.Share >= 2*much:
			all = append(all, Finding{"interpreted", fmt.Sprintf("%.0f %% of Lua's time is interpreted, not compiled.", 100*s.Share),
				"ask moonlap profile, which says why, by the loop or function that LuaJIT could not compile"})
		}
	}
	return all
}

// common is the innermost Lua function that all the stacks share, from the outermost frame inwards.
func common(samples []sample.Sample) (profile.Frame, bool) {
	var best profile.Frame
	found := false
	for depth := 1; ; depth++ {
		var first profile.Frame
		for i, s := range samples {
			at := len(s.Stack) - depth
			if at < 0 {
				return best, found
			}
			f := s.Stack[at]
			if i == 0 {
				first = f
			}
			if f.Function != first.Function || f.File != first.File || f.FirstLine != first.FirstLine {
				return best, found
			}
			if f.Line != first.Line || f.LastLine != first.LastLine {
				first.Line, first.LastLine = first.FirstLine, 0 // several lines: name the function
			}
		}
		if first.Kind == profile.Lua {
			best, found = first, true
		}
	}
}

// typical is the most frequent stack of some samples, or of all where there are none.
func typical(all, some []sample.Sample) []profile.Frame {
	if len(some) > 0 {
		all = some
	}
	count := map[string]int{}
	keys := map[*profile.Frame]string{} // equal stacks share their memory, mostly
	var best []profile.Frame
	most := 0
	for _, s := range all {
		if len(s.Stack) == 0 {
			continue
		}
		key, ok := keys[&s.Stack[0]]
		if !ok {
			key = fmt.Sprint(s.Stack)
			keys[&s.Stack[0]] = key
		}
		if count[key]++; count[key] > most {
			most, best = count[key], s.Stack
		}
	}
	return best
}
