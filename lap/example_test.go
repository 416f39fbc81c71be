package lap_test

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/lap"
)

func ExampleBenchmark() {
	b := lap.NewBenchmark(1000)
	for b.Next() {
		time.Sleep(time.Microsecond)
	}
	r := b.Result()
	fmt.Println(r.Count(), r.Min() > 0, r.Percentile(50) <= r.Percentile(99))
	// Output: 1000 true true
}

func ExampleStopwatch() {
	s := lap.NewStopwatch(10)
	for range 10 {
		id := s.Start()
		go func() { _ = s.Stop(id) }()
	}
	s.Wait()
	fmt.Println(s.Result().Count())
	fmt.Println(s.Stop(12345))
	// Output:
	// 10
	// lap: Stop of a span that was never started, or is stopped already
}

func ExampleHistogram() {
	h := lap.NewHistogram()
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	fmt.Println(h.Count(), h.Min(), h.Max(), h.Percentile(90).Round(time.Microsecond))
	decoded, err := lap.Decode(h.Encode())
	fmt.Println(decoded.Count(), err)
	// Output:
	// 1000 1µs 1ms 900µs
	// 1000 <nil>
}
