package bench

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
)

// drawn is a LuaJIT whose only case takes 20 ns a call, and 30 ns by every other draw, while something slows the machine.
const drawn = `#!/bin/sh
exec awk 'BEGIN {
    job = ENVIRON["MOONLAP_JOB"]; out = "/dev/fd/3"
    in_it = "\"process\":" value("process") ",\"worker\":0,\"case\":0"
    if (job ~ /mode = "list"/) {
        print "{\"type\":\"case\"," in_it ",\"index\":0,\"name\":\"drawn\",\"benchmark\":\"drawn\",\"file\":\"a.lua\",\"line\":1,\"runtime\":\"\",\"gc\":\"natural\"}" >out
    } else {
        seed = value("seed"); ns = substr(seed, 3, 1) % 2 ? 30 : 20
        for (i = 0; i < 60; i++) {
            calls = calls ",1000"; took = took "," 1000 * ns + 20 * (i % 5); core = core "," 2000 + i % 3
        }
        print "{\"type\":\"process\"," in_it ",\"round\":" value("round") ",\"seed\":" seed ",\"vm\":{\"version\":\"LuaJIT 2.1\",\"jit\":true},\"clock\":{\"source\":\"tsc\",\"step_ns\":1}}" >out
        print "{\"type\":\"batches\"," in_it ",\"kind\":\"measure\",\"at_ns\":0,\"calls\":[" substr(calls, 2) "],\"ns\":[" substr(took, 2) "],\"yardsticks\":{\"core\":[2000" core "]}}" >out
    }
    print "{\"type\":\"finish\"," in_it ",\"stop\":\"enough\",\"elapsed_ns\":1}" >out
}
function value(name) { return match(job, "[{ ]" name " = [0-9.e+]+") ? substr(job, RSTART + length(name) + 4, RLENGTH - length(name) - 4) : 0 }'
`

// TestSeedsAreMeasuredAgain: where a machine that was never quiet leaves levels, a seed of each is measured again, in turn, and what
// the seed brings again is modes.
func TestSeedsAreMeasuredAgain(t *testing.T) {
	fake := fakeLuaJIT(t)
	if err := os.WriteFile(fake.Path, []byte(drawn), 0o700); err != nil {
		t.Fatal(err)
	}
	options := Options{File: "a.lua", Runtime: fake, Workers: []int{1}, GC: "natural", Timeout: time.Minute, Precision: 1e-9}
	r := &run{
		Measurement: Measurement{Sides: []Side{{Options: options}}}, write: func(record.Line) error { return nil }, progress: func(Progress) {},
		random: rand.New(rand.NewPCG(3, 0)), record: &record.Record{}, budget: time.Second, limits: limits{least: 12, few: 12, most: 12, again: true},
	}
	best := map[string]float64{"core": 1000} // where nothing slows the machine
	if err := r.whole(t.Context(), record.Run{Schema: record.Schema, Kind: "bench", Yardsticks: best}); err != nil {
		t.Fatal(err)
	}
	times := map[float64]int{}
	var order []float64
	for _, p := range r.record.Processes {
		seed := p.Process.Seed
		if times[seed]++; times[seed] > 1 {
			order = append(order, seed)
		}
	}
	if len(order) != 2*stat.LeastAgain || order[0] == order[1] || !slices.Equal(order[:2], order[2:4]) || !slices.Equal(order[:2], order[4:]) {
		t.Fatalf("seeds %v were measured again, of %v", order, times)
	}
	c := stat.Summarize(r.record).Cases[0]
	if len(c.Modes) != 2 || len(c.PerProcess) != 12 {
		t.Errorf("%+v of %d processes, want two modes of 12", c.Modes, len(c.PerProcess))
	}
}
