package laptest_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/lap/laptest"
)

// run is testing.Benchmark with a fixed number of iterations.
func run(t *testing.T, iterations int, f func(*testing.B)) testing.BenchmarkResult {
	t.Helper()
	value := flag.Lookup("test.benchtime").Value
	before := value.String()
	defer value.Set(before)
	if err := value.Set(fmt.Sprintf("%dx", iterations)); err != nil {
		t.Fatal(err)
	}
	return testing.Benchmark(f)
}

// Two allocations an iteration, and a sleep that percentiles can't miss.
func allocate(i int) {
	runtime.KeepAlive(fmt.Sprintf("%d", i+1_000_000))
	if i%10 == 0 {
		time.Sleep(100 * time.Microsecond)
	}
}

var styles = map[string]func(*testing.B){
	"b.N": func(b *testing.B) {
		b.ReportAllocs()
		laps := laptest.NewBenchmark(b)
		for i := 0; laps.Next(); i++ {
			allocate(i)
		}
	},
	"b.Loop": func(b *testing.B) {
		b.ReportAllocs()
		laps, i := laptest.NewBenchmark(b), 0
		for b.Loop() {
			laps.Lap()
			allocate(i)
			i++
		}
	},
	"b.N, reported": func(b *testing.B) {
		b.ReportAllocs()
		laps := laptest.NewBenchmark(b)
		defer laps.Report()
		for i := 0; laps.Next(); i++ {
			allocate(i)
		}
	},
	"RunParallel": func(b *testing.B) {
		b.ReportAllocs()
		laptest.NewBenchmark(b).RunParallel(2, func(pb *laptest.PB) {
			for i := 0; pb.Next(); i++ {
				allocate(i)
			}
		})
	},
}

func TestMetrics(t *testing.T) {
	bare := func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			allocate(i)
		}
	}
	run(t, 2000, bare) // what the runtime allocates once
	plain := run(t, 2000, bare)
	for name, f := range styles {
		r := run(t, 2000, f)
		if r.N != 2000 {
			t.Fatalf("%s: %d iterations", name, r.N)
		}
		p50, p90, p99, p999 := r.Extra["ns/p50"], r.Extra["ns/p90"], r.Extra["ns/p99"], r.Extra["ns/p999"]
		if !(0 < p50 && p50 <= p90 && p90 <= p99 && p99 <= p999) {
			t.Errorf("%s: percentiles %v", name, r.Extra)
		}
		if p99 < 99e3 {
			t.Errorf("%s: one iteration in ten sleeps for 100 µs, yet p99 is %v ns", name, p99)
		}
		perOp := r.Extra["ns/op"]
		if elapsed := float64(r.T) / float64(r.N); !(0 < perOp && perOp <= elapsed) {
			t.Errorf("%s: ns/op %v of %v elapsed", name, perOp, elapsed)
		}
		if r.AllocsPerOp() != plain.AllocsPerOp() {
			t.Errorf("%s: %d allocs/op, plain has %d", name, r.AllocsPerOp(), plain.AllocsPerOp())
		}
		// hrtime's slice of laps was 8 bytes more; a tally counted in would be 144. The
		// runtime's own allocations come and go.
		if d := r.AllocedBytesPerOp() - plain.AllocedBytesPerOp(); d < -4 || d > 4 {
			t.Errorf("%s: %d B/op, plain has %d", name, r.AllocedBytesPerOp(), plain.AllocedBytesPerOp())
		}
	}
}

// In a single iteration, nothing that laptest sets up can hide. What the runtime and
// testing allocate comes and goes, so the fewest of many runs count.
func TestSetUpIsNotCharged(t *testing.T) {
	fewest := func(f func(*testing.B)) (allocs, bytes int64) {
		allocs, bytes = math.MaxInt64, math.MaxInt64
		for range 50 {
			r := run(t, 1, func(b *testing.B) {
				b.ReportAllocs()
				f(b)
			})
			allocs, bytes = min(allocs, r.AllocsPerOp()), min(bytes, r.AllocedBytesPerOp())
		}
		return allocs, bytes
	}
	for name, pair := range map[string][2]func(*testing.B){
		"b.N": {
			func(*testing.B) {},
			func(b *testing.B) {
				for laps := laptest.NewBenchmark(b); laps.Next(); {
				}
			},
		},
		"RunParallel": {
			func(b *testing.B) {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
					}
				})
			},
			func(b *testing.B) {
				laptest.NewBenchmark(b).RunParallel(1, func(pb *laptest.PB) {
					for pb.Next() {
					}
				})
			},
		},
	} {
		wantAllocs, wantBytes := fewest(pair[0])
		allocs, bytes := fewest(pair[1])
		if allocs > wantAllocs || bytes > wantBytes {
			t.Errorf("%s: %d allocations and %d bytes, without laps %d and %d", name, allocs, bytes, wantAllocs, wantBytes)
		}
	}
}

// NewBenchmark leaves the timer as it was: set-up before StartTimer is not charged.
func TestTimerStaysAsItWas(t *testing.T) {
	run(t, 1, func(b *testing.B) {
		elapsed := func() time.Duration {
			before := b.Elapsed()
			time.Sleep(time.Millisecond)
			return b.Elapsed() - before
		}
		b.StopTimer()
		laptest.NewBenchmark(b)
		if d := elapsed(); d != 0 {
			t.Errorf("a stopped timer runs: %v", d)
		}
		b.StartTimer()
		laptest.NewBenchmark(b)
		if d := elapsed(); d == 0 {
			t.Error("a running timer stands")
		}
	})
}

func TestFewIterations(t *testing.T) {
	for name, f := range styles {
		r := run(t, 1, f)
		if _, found := r.Extra["ns/p50"]; found != (name != "b.Loop") {
			t.Errorf("%s: %v", name, r.Extra)
		}
	}
}

// goTest is what the real go test prints of this package's styles.
func goTest(t *testing.T, flags ...string) string {
	t.Helper()
	args := append([]string{"-test.run=^$", "-test.bench=^BenchmarkStyles$", "-test.benchtime=100x"}, flags...)
	out, err := exec.Command(os.Args[0], args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// Sub-benchmarks and -count: a line each, with every unit once.
func TestUnderGoTest(t *testing.T) {
	out := goTest(t, "-test.count=3", "-test.benchmem")
	lines := 0
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "BenchmarkStyles/") {
			continue
		}
		lines++
		for _, unit := range []string{" ns/op", " ns/p50", " ns/p90", " ns/p99", " ns/p999", " B/op", " allocs/op"} {
			if strings.Count(line, unit+"\t")+strings.Count(line, unit+"\n") != 1 {
				t.Errorf("unit%s: %s", unit, line)
			}
		}
	}
	if lines != 3*len(styles) {
		t.Errorf("%d lines:\n%s", lines, out)
	}
}

// Stock benchstat compares the percentiles as it does times, which it has in seconds.
func TestBenchstat(t *testing.T) {
	args := []string{"tool", "benchstat"}
	for _, name := range []string{"old", "new"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(goTest(t, "-test.count=4")), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, name+"="+file)
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, unit := range []string{"sec/op", "sec/p50", "sec/p90", "sec/p99", "sec/p999"} {
		table := regexp.MustCompile(`│ +` + unit + ` +│ +` + unit + ` +vs base +│\n(?:.*\(p=[\d.]+ n=4\).*\n){4}`)
		if !table.Match(out) {
			t.Errorf("no comparison of %s in\n%s", unit, out)
		}
	}
}

// What laps cost a benchmark: moonlap bench --compare --filter '/[pb]' ./lap/laptest. Nothing
// here allocates or sleeps.
func BenchmarkArithmetic(b *testing.B) {
	body := func(n int) int {
		for i := range 2000 {
			n += i ^ n
		}
		return n
	}
	b.Run("plain", func(b *testing.B) {
		n := 0
		for range b.N {
			n = body(n)
		}
		runtime.KeepAlive(n)
	})
	b.Run("b.N", func(b *testing.B) {
		laps, n := laptest.NewBenchmark(b), 0
		for laps.Next() {
			n = body(n)
		}
		runtime.KeepAlive(n)
	})
	b.Run("b.Loop", func(b *testing.B) {
		laps, n := laptest.NewBenchmark(b), 0
		for b.Loop() {
			laps.Lap()
			n = body(n)
		}
		runtime.KeepAlive(n)
	})
	b.Run("RunParallel", func(b *testing.B) {
		laptest.NewBenchmark(b).RunParallel(1, func(pb *laptest.PB) {
			n := 0
			for pb.Next() {
				n = body(n)
			}
			runtime.KeepAlive(n)
		})
	})
}

func BenchmarkStyles(b *testing.B) {
	for name, f := range styles {
		b.Run(name, f)
	}
}
