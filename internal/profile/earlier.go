package profile

import (
	"encoding/json"

	"github.com/moonlap/moonlap/internal/evidence"
)

// decode reads a document. Those of earlier versions had no head: what it says stood beside the stacks.
func decode(data []byte) (Document, error) {
	d := Document{Profile: &Profile{}}
	if err := json.Unmarshal(data, &d); err != nil {
		return d, err
	}
	var earlier struct {
		Head  json.RawMessage `json:"head"`
		Found json.RawMessage `json:"found"`
	}
	if err := json.Unmarshal(data, &earlier); err != nil || earlier.Head != nil {
		return d, err
	}
	if err := json.Unmarshal(data, &d.Head); err != nil {
		return d, err
	}
	more, err := evidenceOf(earlier.Found)
	d.Evidence = more.Merge(d.Evidence)
	return d, err
}

// found is what files of earlier versions had beside their evidence, before each kind of it had a name: where the workers' time went.
type found struct {
	Kind   string          `json:"kind"` // of a capture alone
	Times  json.RawMessage `json:"times"`
	Blocks json.RawMessage `json:"blocks"`
	Loop   *struct {
		Turns     int   `json:"turns"`
		P50       int64 `json:"p50_ns"`
		P99       int64 `json:"p99_ns"`
		P999      int64 `json:"p999_ns"`
		Longest   int64 `json:"longest_ns"`
		Threshold int64 `json:"threshold_ns"`
	} `json:"event_loop"`
	Stalls []map[string]any `json:"stalls"`
}

// evidenceOf is the same by kinds.
func evidenceOf(data json.RawMessage) (set evidence.Set, err error) {
	type object map[string]any
	var f found
	if data == nil {
		return nil, nil
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	kinds := object{}
	switch {
	case f.Kind == "capture":
		event := object{}
		if err := json.Unmarshal(data, &event); err != nil {
			return nil, err
		}
		event["samples"], event["samples_before"] = event["looks"], event["looks_before"]
		kinds["event"] = event
	case f.Times != nil:
		kinds["sleeps"] = object{"times": f.Times, "blocks": f.Blocks}
	}
	if l := f.Loop; l != nil {
		for _, s := range f.Stalls {
			s["samples"] = s["looks"]
		}
		kinds["turns"] = object{
			"threshold_ns": l.Threshold, "p999_ns": l.P999, "stalls": f.Stalls,
			"lengths": object{"count": l.Turns, "p50_ns": l.P50, "p99_ns": l.P99, "longest_ns": l.Longest},
		}
	}
	if data, err = json.Marshal(kinds); err != nil {
		return nil, err
	}
	return set, json.Unmarshal(data, &set)
}
