package record

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// An empty list and an absent one say the same in a record.
var same = cmp.Options{cmpopts.EquateEmpty()}

func TestWriteThenReadIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawRecord(t)
		var b bytes.Buffer
		w := NewWriter(&b)
		for _, l := range lines {
			if err := w.Write(l); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(b.String(), "\n"); n != len(lines) {
			t.Fatalf("%d lines were written as %d", len(lines), n)
		}

		r := NewReader(bytes.NewReader(b.Bytes()), "mem")
		var got []Line
		for {
			l, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, l)
		}
		if d := cmp.Diff(lines, got, same); d != "" {
			t.Fatalf("lines changed on the way (-written +read):\n%s", d)
		}
		if len(r.Skipped()) != 0 {
			t.Fatalf("our own lines were skipped: %v", r.Skipped())
		}

		want := &Record{}
		for _, l := range lines {
			if err := want.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		rec, err := Read(bytes.NewReader(b.Bytes()), "mem")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, rec, same); d != "" {
			t.Fatalf("the record changed on the way (-built +read):\n%s", d)
		}
	})
}

// A record that is cut anywhere yields what stood before the cut, and an error.
func TestEveryTruncationIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawRecord(t)
		var b bytes.Buffer
		ends := []int{0}
		w := NewWriter(&b)
		for _, l := range lines {
			if err := w.Write(l); err != nil {
				t.Fatal(err)
			}
			ends = append(ends, b.Len())
		}
		// The last newline alone carries nothing, so a cut before it loses nothing.
		cut := rapid.IntRange(0, b.Len()-2).Draw(t, "cut")
		rec, err := Read(bytes.NewReader(b.Bytes()[:cut]), "cut")
		if err == nil || rec.Complete() {
			t.Fatalf("a cut after %d of %d bytes went unnoticed", cut, b.Len())
		}
		want := &Record{}
		for i, l := range lines {
			if ends[i+1]-1 > cut { // up to and without the newline
				break
			}
			if err := want.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		ignore := cmpopts.IgnoreFields(Record{}, "Spoiled")
		if d := cmp.Diff(want, rec, same, ignore); d != "" {
			t.Fatalf("not all that stood before the cut was read (-want +got):\n%s", d)
		}
	})
}

func drawRecord(t *rapid.T) []Line {
	lines := []Line{drawRun(t), Runtime{Kind: "luajit", Path: text(t), Version: text(t)}}
	cases := rapid.IntRange(1, 3).Draw(t, "cases")
	for i := range cases {
		lines = append(lines, drawCase(t, i))
	}
	for p := range rapid.IntRange(0, 3).Draw(t, "processes") {
		workers := rapid.IntRange(1, 2).Draw(t, "workers")
		kase := rapid.IntRange(0, cases-1).Draw(t, "case")
		for w := range workers {
			in := In{Process: p, Worker: w}
			lines = append(lines, Process{
				In: in, Case: kase, Round: p, PID: 1 + p, Seed: number(t),
				PRNG:  rapid.SliceOfN(rapid.Uint32(), 0, 8).Draw(t, "prng"),
				VM:    VM{Version: text(t), Arch: "x64", GC64: w == 0, Opt: []string{text(t)}},
				Clock: Clock{Source: "tsc", StepNS: number(t), CostNS: number(t)},
			})
			lines = append(lines, drawWorker(t, in)...)
		}
		lines = append(lines, Exit{Process: p, Status: p, CPUNS: number(t), Stderr: &Output{Bytes: 3, Head: text(t)}})
	}
	if rapid.Bool().Draw(t, "profile") {
		lines = append(lines, Profile{Case: 0, By: text(t), Profile: json.RawMessage(`{"schema":"moonlap/1","type":"no line's"}`)})
	}
	if rapid.Bool().Draw(t, "load") {
		lines = append(lines, drawLoad(t)...)
	}
	lines = append(lines, Fault{In: In{Process: 99}, Case: -1, Kind: FaultError, Text: text(t), Source: Source{File: text(t), Line: 3}})
	return append(lines, End{Reason: "complete", ElapsedNS: number(t)})
}

func drawLoad(t *rapid.T) []Line {
	cpu, from, status, compiled := number(t), number(t), 3, false
	return []Line{
		Load{URLs: []string{text(t)}, Threads: 2, Connections: 4, Rate: number(t), Metrics: []string{"p99"},
			Stages: []LoadStage{{Rate: number(t), DurationNS: number(t), From: &from}}, Gates: map[string]float64{"p99": number(t)}},
		LoadThread{Thread: 1, PID: 7, VM: text(t), Connections: 2, Compiled: &compiled},
		LoadBegin{AtNS: number(t)},
		LoadSlice{Thread: 1, Slice: 3, Block: 1, Warmup: true, AtNS: number(t), NS: 5, Responses: 9, Errors: LoadErrors{Timeout: 1},
			ServerCPUNS: &cpu, SumNS: number(t), Latency: "HIST" + text(t), Tags: []LoadTag{{Name: text(t), Count: 2}}},
		LoadError{Kind: "reset", Text: text(t), Count: 4},
		LoadScript{Thread: -1, Hook: "request", Kind: "exit", Text: text(t), Source: Source{File: text(t), Line: 8}, Status: &status},
		LoadDone{Stop: LoadStopDuration, ElapsedNS: number(t), Switches: 4},
	}
}

func drawRun(t *rapid.T) Run {
	steal := number(t)
	return Run{
		Schema: Schema, Kind: "bench", Args: []string{text(t), text(t)},
		Seed: rapid.Uint64().Draw(t, "seed"),
		Environment: Environment{
			OS: "linux", CPU: text(t), Load: []float64{number(t)}, StealPercent: &steal,
			Missing: map[string]string{"governor": text(t)},
		},
	}
}

func drawCase(t *rapid.T, i int) Case {
	return Case{
		Case: i, Name: "n" + text(t), Benchmark: text(t), Runtime: "luajit", GC: "natural",
		Params: map[string]any{"s": text(t), "n": number(t), "b": rapid.Bool().Draw(t, "b")},
		Tags:   []string{text(t)}, File: text(t), Line: i, Rate: number(t),
	}
}

func drawWorker(t *rapid.T, in In) []Line {
	n := rapid.IntRange(0, 4).Draw(t, "batches")
	instructions := number(t)
	b := Batches{In: in, Kind: Measure, AtNS: number(t)}
	for i := range n {
		b.Calls = append(b.Calls, 1+i)
		b.NS = append(b.NS, math.Abs(number(t)))
		b.Steal = append(b.Steal, i%2)
	}
	return []Line{
		b,
		Laps{In: in, Kind: LapCalls, Count: 3, MeanNS: number(t), Histogram: "HIST" + text(t)},
		Memory{In: in, Calls: 5, BytesPerCall: number(t)},
		Metric{In: in, Unit: "u" + text(t), Values: []float64{number(t), number(t)}},
		JIT{In: in, Traces: []Trace{{ID: 1, Source: Source{File: text(t), Line: 2}, Lines: "2-3", Link: "loop"}},
			Aborts:      []Abort{{Source: Source{Line: 7}, Reason: text(t), NYI: text(t), Count: 2}},
			Blacklisted: []Blacklist{{What: "loop"}}},
		Fault{In: in, Kind: FaultError, Text: text(t), Call: 1000, Traceback: text(t) + "\n\t" + text(t)},
		Finish{In: in, Stop: "enough", ElapsedNS: number(t), Yields: true, InstructionsPerCall: &instructions},
	}
}

func text(t *rapid.T) string { return rapid.String().Draw(t, "text") }

func number(t *rapid.T) float64 {
	return rapid.Float64Range(-1e18, 1e18).Draw(t, "number")
}
