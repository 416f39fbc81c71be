package profile

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
)

// TestHot: lines of one function are told apart, compiled ones and interpreted ones are not, and shares
// are of all looks, those without Lua included.
func TestHot(t *testing.T) {
	line := func(n int, compiled bool) Frame {
		return Frame{Function: "work", File: "/srv/b.lua", FirstLine: 3, Line: n, Kind: Lua, Compiled: compiled}
	}
	p := &Profile{}
	p.Add([]Frame{cMain, line(4, true)}, map[string]string{"state": "compiled"}, 5)
	p.Add([]Frame{cMain, line(4, false), format}, map[string]string{"state": "C"}, 1)
	p.Add([]Frame{cMain, line(7, true)}, map[string]string{"state": "compiled"}, 2)
	p.Add([]Frame{cMain, chunk}, map[string]string{"state": "interpreted"}, 1)
	p.Add([]Frame{cMain, write}, nil, 1)
	p.Merge()
	var b bytes.Buffer
	if err := p.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	got := Hot(&record.Profile{By: "ebpf", Profile: b.Bytes()}, 2)
	want := &record.Hot{
		By: "ebpf", Samples: 10,
		States: []record.StateShare{{State: "compiled", Share: 0.7}, {State: "C", Share: 0.1}, {State: "interpreted", Share: 0.1}},
		Lines: []record.HotLine{
			{Function: "work", File: "/srv/b.lua", Line: 4, Samples: 6, Share: 0.6},
			{Function: "work", File: "/srv/b.lua", Line: 7, Samples: 2, Share: 0.2},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if hot := Hot(&record.Profile{By: "ptrace", Profile: []byte(`{"kind":"profile"}`)}, 2); hot.Fault == "" || hot.Lines == nil {
		t.Errorf("%+v", hot)
	}
}
