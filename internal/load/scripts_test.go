package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
)

func TestScriptProblems(t *testing.T) {
	at := func(line int) record.Source { return record.Source{File: "x.lua", Line: line} }
	rec := &record.Record{Load: record.LoadRecord{Scripts: []record.LoadScript{
		{Thread: -1, Hook: "load", Text: "no", Source: at(1)},
		{Thread: 0, Hook: "load", Text: "no", Source: at(1)},
		{Thread: 1, Hook: "load", Text: "x.lua:1: no", Source: at(1)},
		{Thread: 0, Hook: "done", Kind: "hang", Text: "has not returned for 30 s", Source: at(7)},
		{Thread: -1, Hook: "load", Kind: "hang", Text: "has not returned for 30 s", Source: record.Source{File: "x.lua"}},
		{Thread: 0, Hook: "init", Kind: "exit", Text: "os.exit(3)", Source: at(2)},
	}}}
	var texts []string
	for _, p := range scriptProblems(rec, &record.LoadResults{}) {
		if p.Code != record.LoadScriptError || !p.Decides || p.Advice == "" {
			t.Errorf("%+v", p)
		}
		texts = append(texts, p.Text)
	}
	want := `the script failed in its file: x.lua:1: no
the script hangs: done() (x.lua:7) has not returned for 30 s
the script hangs: its file (x.lua) has not returned for 30 s
the script ends the run in init(): x.lua:2: os.exit(3)`
	if diff := cmp.Diff(want, strings.Join(texts, "\n")); diff != "" {
		t.Error(diff)
	}
}
