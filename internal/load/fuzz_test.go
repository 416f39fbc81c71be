package load

import (
	"bytes"
	"math"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// FuzzRecord: whatever a record of load holds, it is summarized and joined, and the results can be written as JSON.
func FuzzRecord(f *testing.F) {
	for _, run := range []fakeRun{
		{sides: 1, blocks: 2, answers: true, limits: []string{"p99>10ms", "cpu>1us"}},
		{sides: 2, blocks: 2, slower: 0.1, rate: 1000, sent: 0.9, answers: true, threads: 2, stop: 1e7, seed: 1},
		{sides: 1, blocks: 1, errors: record.LoadErrors{Timeout: 3, Status: 1}},
	} {
		text := written(f, run)
		f.Add(text)
		f.Add(bytes.ReplaceAll(text, []byte(`"ns":100000000`), []byte(`"ns":1e308`)))
		f.Add(bytes.ReplaceAll(text, []byte(`"side":0`), []byte(`"side":9223372036854775807`)))
		f.Add(bytes.ReplaceAll(text, []byte(`"responses":`), []byte(`"responses":9223372036854775`)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := record.Read(bytes.NewReader(text), "fuzz")
		if err != nil || rec.Run.Kind != record.KindLoad || rec.Load.Plan == nil {
			return
		}
		summarized(t, rec)
		if joined, err := Join([]*record.Record{rec, rec}); err == nil {
			summarized(t, joined)
		}
	})
}

// written is a run's record as a file has it.
func written(f *testing.F, run fakeRun) []byte {
	rec := run.record(f)
	var lines []record.Line
	lines = append(lines, rec.Run)
	for _, c := range rec.Cases {
		lines = append(lines, c)
	}
	lines = append(lines, *rec.Load.Plan)
	for _, t := range rec.Load.Threads {
		lines = append(lines, t)
	}
	for _, s := range rec.Load.Slices {
		lines = append(lines, s)
	}
	for _, d := range rec.Load.Done {
		lines = append(lines, d)
	}
	lines = append(lines, *rec.End)
	var text []byte
	for _, l := range lines {
		line, err := record.EncodeLine(l)
		if err != nil {
			f.Fatal(err)
		}
		text = append(text, line...)
	}
	return text
}

// summarized has the results of a record be written, as every report and export does.
func summarized(t *testing.T, rec *record.Record) {
	res := Summarize(rec)
	for _, s := range res.Sides {
		if len(s.Series) > mostPoints+1 {
			t.Fatalf("%d points", len(s.Series))
		}
		for _, p := range s.Series {
			if len(p.Heat) > record.HeatAt(math.MaxInt64)+1 {
				t.Fatalf("%d cells", len(p.Heat))
			}
		}
	}
	var out bytes.Buffer
	if err := record.WriteLoadJSON(&out, res); err != nil {
		t.Fatalf("the results cannot be written: %v", err)
	}
}
