package record

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTrackers: the documents as Bencher and github-action-benchmark read them.
func TestTrackers(t *testing.T) {
	named := func(name string, d *Distribution) (c CaseResult) {
		c.Name, c.NSPerCall, c.Processes = name, d, 6
		return c
	}
	d := &Distribution{}
	d.Estimate, d.Low, d.High = 31, 28.5, 55
	results := &Results{Cases: []CaseResult{named("a \"b\"", d), named("none", nil)}}
	var bencher, github bytes.Buffer
	if err := WriteBencher(&bencher, results); err != nil {
		t.Fatal(err)
	}
	if err := WriteGitHubBenchmark(&github, results); err != nil {
		t.Fatal(err)
	}
	const wantBencher = `{
  "a \"b\"": {
    "latency": {
      "value": 31,
      "lower_value": 28.5,
      "upper_value": 55
    }
  }
}
`
	const wantGitHub = `[
  {
    "name": "a \"b\"",
    "unit": "ns/call",
    "value": 31,
    "range": "28.5 to 55",
    "extra": "6 processes"
  }
]
`
	if diff := cmp.Diff(wantBencher, bencher.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantGitHub, github.String()); diff != "" {
		t.Error(diff)
	}
}
