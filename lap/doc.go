// Package lap times Go code lap by lap, in constant memory and with the cost of
// timing taken off:
//
//	b := lap.NewBenchmark(100_000)
//	for b.Next() {
//		work()
//	}
//	fmt.Println(b.Histogram(10))
//
// A [Benchmark] reads the clock once a lap. A [Stopwatch] times spans that start in
// one goroutine and stop in another. Both keep no laps, but count them in a
// [Histogram]: HdrHistogram's buckets, and its encoding in both directions. What
// timing itself costs is measured as a minimum, before and after, and is no part of
// the [Result]; how well it is known is.
//
// The names are those of github.com/loov/hrtime where they fit.
package lap
