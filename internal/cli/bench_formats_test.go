package cli

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// contract is what --format json promises of a case, as a tree of keys.
var contract = map[string]any{
	"schema": nil, "kind": nil, "environment": nil, "warnings": nil, "comparisons": nil,
	"cases": map[string]any{
		"name": nil, "bytes_per_call": nil, "processes": nil, "steady": nil, "warnings": nil,
		"ns_per_call": map[string]any{
			"estimate": nil, "low": nil, "high": nil,
			"min": nil, "p50": nil, "p90": nil, "p99": nil, "max": nil,
		},
		"modes": map[string]any{"share": nil, "ns": nil},
		"jit":   map[string]any{"root_traces": nil, "side_traces": nil, "aborts": nil, "blacklisted": nil},
	},
}

// missing returns the first path of want that have lacks, "" for none. A list stands for
// its elements, of which there must be one.
func missing(have any, want map[string]any) string {
	if list, ok := have.([]any); ok {
		if len(list) == 0 {
			return "[0]"
		}
		for _, element := range list {
			if path := missing(element, want); path != "" {
				return path
			}
		}
		return ""
	}
	object, _ := have.(map[string]any)
	for key, inside := range want {
		value, ok := object[key]
		if !ok {
			return key
		}
		if inside, ok := inside.(map[string]any); ok {
			if path := missing(value, inside); path != "" {
				return key + "." + path
			}
		}
	}
	return ""
}

// fields is the script command `fields FILE`: JSON with all that the contract promises.
func fields(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fields FILE")
	}
	var have any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &have))
	if path := missing(have, contract); path != "" {
		ts.Fatalf("%s has no %s", args[0], path)
	}
}

// benchstat is the script command `benchstat FILE`: stock benchstat reads it without a
// complaint.
func benchstat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: benchstat FILE")
	}
	cmd := exec.Command("go", "tool", "benchstat", ts.MkAbs(args[0])) // in this package's folder
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stdout()
	ts.Check(cmd.Run())
}

func TestMissing(t *testing.T) {
	want := map[string]any{"a": map[string]any{"b": nil}}
	for text, path := range map[string]string{
		`{"a":{"b":1}}`: "", `{"a":[{"b":1}]}`: "", `{}`: "a", `{"a":{}}`: "a.b",
		`{"a":[]}`: "a.[0]", `{"a":[{"b":1},{}]}`: "a.b", `{"a":null}`: "a.b",
	} {
		var have any
		if err := json.Unmarshal([]byte(text), &have); err != nil {
			t.Fatal(err)
		}
		if got := missing(have, want); got != path {
			t.Errorf("%s lacks %q, want %q", text, got, path)
		}
	}
}
