package lap_test

import (
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/moonlap/moonlap/lap"
)

// The code of docs/reference/lap.md as it stands there; a test of internal/docs compares.

func TestBenchmarkOfThePage(t *testing.T) {
	quietly(t)
	b := lap.NewBenchmark(100_000)
	for b.Next() {
		work()
	}
	fmt.Println(b.Histogram(10))
	if n := b.Result().Count(); n != 100_000 {
		t.Errorf("%d laps", n)
	}
}

func TestQuietMomentsOfThePage(t *testing.T) {
	quietly(t)
	b := lap.NewBenchmarkFor(100 * time.Millisecond).Watch()
	for b.Next() {
		work()
	}
	if quiet := b.Result().Quiet; quiet != nil {
		fmt.Println(quiet.Share, quiet.Percentile(50))
	}
}

func TestStopwatchOfThePage(t *testing.T) {
	quietly(t)
	s := lap.NewStopwatch(1000) // room for 1000 spans open at once
	for range 1000 {
		id := s.Start()
		go func() {
			work()
			if err := s.Stop(id); err != nil {
				log.Print(err)
			}
		}()
	}
	s.Wait() // until 1000 spans are stopped
	fmt.Println(s.Histogram(10))
	if n := s.Result().Count(); n != 1000 {
		t.Errorf("%d spans", n)
	}
}

//go:noinline
func work() {}

// quietly sends what the page prints to nowhere.
func quietly(t *testing.T) {
	t.Helper()
	stdout := os.Stdout
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = nowhere
	t.Cleanup(func() {
		os.Stdout = stdout
		if err := nowhere.Close(); err != nil {
			t.Error(err)
		}
	})
}
