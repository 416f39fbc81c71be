package profile

import (
	"encoding/json"

	"github.com/moonlap/moonlap/internal/evidence"
)

// found is what files of earlier versions had beside their evidence, before each kind of it had a name: where the workers' time went.
type found struct {
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

// evidence is the same by kinds.
func (f *found) evidence() (set evidence.Set, err error) {
	if f == nil || f.Times == nil {
		return nil, nil
	}
	type object map[string]any
	kinds := object{"sleeps": object{"times": f.Times, "blocks": f.Blocks}}
	if l := f.Loop; l != nil {
		for _, s := range f.Stalls {
			s["samples"] = s["looks"]
		}
		kinds["turns"] = object{
			"threshold_ns": l.Threshold, "p999_ns": l.P999, "stalls": f.Stalls,
			"lengths": object{"count": l.Turns, "p50_ns": l.P50, "p99_ns": l.P99, "longest_ns": l.Longest},
		}
	}
	data, err := json.Marshal(kinds)
	if err != nil {
		return nil, err
	}
	return set, json.Unmarshal(data, &set)
}
