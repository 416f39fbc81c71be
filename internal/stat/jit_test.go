package stat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/record"
)

func TestJITOf(t *testing.T) {
	place := record.Source{File: "case.lua", Line: 4}
	own := func(id, parent, mcode int, link string) record.Trace {
		return record.Trace{ID: id, Parent: parent, Link: link, MCode: mcode, Own: true, Stage: "warmup"}
	}
	nyi := func(count int, stage string) record.Abort {
		return record.Abort{Source: place, Reason: "NYI: bytecode FNEW", NYI: "FNEW", Count: count, Stage: stage}
	}
	good := &record.JIT{Traces: []record.Trace{own(1, 0, 100, "loop"), own(2, 1, 50, "root"), {ID: 3, MCode: 900}}}
	more := &record.JIT{Traces: []record.Trace{own(1, 0, 120, "loop"), own(2, 1, 50, "root"), own(3, 1, 60, "root")},
		Aborts: []record.Abort{nyi(2, "warmup"), nyi(5, "load")}, Flushes: 1}
	stitched := &record.JIT{Traces: []record.Trace{own(1, 0, 100, "stitch")}, Aborts: []record.Abort{nyi(3, "warmup")},
		Blacklisted: []record.Blacklist{{Source: place, What: "loop"}}}
	for _, c := range []struct {
		name    string
		ledgers []*record.JIT
		jitOn   bool
		want    record.JITSummary
	}{
		{"compiled", []*record.JIT{good, good, more}, true, record.JITSummary{
			RootTraces: 1, SideTraces: 1, MCodeBytes: 150, Flushes: 1, Compiled: compiled,
			Aborts: []record.Abort{nyi(2, "warmup")}, Blacklisted: []record.Blacklist{},
		}},
		{"partly", []*record.JIT{stitched, more, stitched}, true, record.JITSummary{
			RootTraces: 1, MCodeBytes: 100, Flushes: 1, Compiled: partly,
			Aborts: []record.Abort{nyi(8, "warmup")}, Blacklisted: []record.Blacklist{{Source: place, What: "loop"}},
		}},
		{"interpreted", []*record.JIT{{}, {}}, true, record.JITSummary{
			Compiled: interpreted, Aborts: []record.Abort{}, Blacklisted: []record.Blacklist{},
		}},
		{"compiler off", nil, false, record.JITSummary{
			Compiled: interpreted, Aborts: []record.Abort{}, Blacklisted: []record.Blacklist{},
		}},
		{"not known", nil, true, record.JITSummary{Aborts: []record.Abort{}, Blacklisted: []record.Blacklist{}}},
	} {
		if diff := cmp.Diff(c.want, jitOf(c.ledgers, c.jitOn)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
