package load

import (
	"fmt"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

// scriptProblems are what the script did wrong. What it did in several threads is named once.
func scriptProblems(rec *record.Record, res *record.LoadResults) []record.LoadProblem {
	var list []record.LoadProblem
	known := map[string]bool{}
	for _, s := range rec.Load.Scripts {
		if s.Hook == engineHook { // not the script's fault, but ours
			list = append(list, record.LoadProblem{Code: record.LoadEngineFailed, Text: s.Text, Advice: engineAdvice, Decides: true})
			continue
		}
		p := record.LoadProblem{
			Code: record.LoadScriptError, Side: nameOf(res, s.Side), Text: scriptText(s), Advice: scriptAdvice(s), Decides: true,
		}
		if key := p.Side + "\x00" + p.Text; !known[key] {
			known[key] = true
			list = append(list, p)
		}
	}
	return list
}

// engineHook is the hook of a script's line where the engine itself failed.
const engineHook = "engine"

// scriptText is what happened in which hook, and where.
func scriptText(s record.LoadScript) string {
	hook := s.Hook + "()"
	if s.Hook == "load" {
		hook = "its file"
	}
	where := ""
	switch {
	case s.File != "" && s.Line > 0:
		where = fmt.Sprintf("%s:%d", s.File, s.Line)
	case s.File != "":
		where = s.File
	}
	switch s.Kind {
	case "hang":
		if where != "" {
			hook += " (" + where + ")"
		}
		return fmt.Sprintf("the script hangs: %s %s", hook, s.Text)
	case "exit":
		return fmt.Sprintf("the script ends the run in %s: %s: %s", hook, where, s.Text)
	}
	text := s.Text
	if where != "" && !strings.HasPrefix(text, where+": ") {
		text = where + ": " + text
	}
	return fmt.Sprintf("the script failed in %s: %s", hook, text)
}

func scriptAdvice(s record.LoadScript) string {
	switch s.Kind {
	case "hang":
		return "what was measured until then stands; a hook may take 5 s; setup(), init(), done() and the file 30 s"
	case "exit":
		return "thread:stop() ends a thread, and leaves it its part of the report"
	case "memory":
		return "what was measured until then stands; a thread of the client may take its part of half of the free memory"
	case "crash":
		return "the script's thread is gone, and what it measured stands; look for ffi in the script"
	}
	return "mend the script, and run again"
}
