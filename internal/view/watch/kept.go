package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/toplines"
	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
)

// ErrNoLines is of pages that were kept without --top-lines.
var ErrNoLines = errors.New("these pages of watch have no lines: keep them with 'moonlap watch --top-lines --json'")

// Lines are the Lua lines of kept pages, of all intervals together; nil where the file is none of pages. Each page is a line of JSON.
func Lines(data []byte) (*toplines.Result, error) {
	var all evidence.Set
	pages := 0
	for line := range bytes.Lines(data) {
		var about struct{ Schema, Kind string }
		if json.Unmarshal(line, &about) != nil || about.Kind != "watch" {
			return nil, nil
		}
		if about.Schema != record.Schema {
			return nil, fmt.Errorf("its schema is %q, and this moonlap reads %q", about.Schema, record.Schema)
		}
		if err := files.CheckJSON("the page", line); err != nil {
			return nil, err
		}
		var s Snapshot
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, err
		}
		pages++
		for _, m := range s.Masters {
			all = all.Merge(m.Evidence)
		}
	}
	found, ok := all[toplines.Name].(*toplines.Result)
	if pages > 0 && (!ok || found.Samples == 0) {
		return nil, ErrNoLines
	}
	return found, nil
}
