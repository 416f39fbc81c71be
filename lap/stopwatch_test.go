package lap_test

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moonlap/moonlap/lap"
)

var stopwatches = []struct {
	name string
	new  func(int) *lap.Stopwatch
}{{"system", lap.NewStopwatch}, {"counter", lap.NewStopwatchTSC}, {"kernel", lap.NewKernelStopwatch}}

func TestStopwatchAcrossGoroutines(t *testing.T) {
	const goroutines, each = 1000, 100
	for _, c := range stopwatches {
		s := c.new(goroutines)
		ids := make(chan int64, goroutines)
		var stoppers, starters sync.WaitGroup
		var failed atomic.Int64
		for range goroutines {
			stoppers.Go(func() {
				for range each {
					if err := s.Stop(<-ids); err != nil {
						failed.Add(1)
					}
				}
			})
			starters.Go(func() {
				for range each {
					ids <- s.Start()
				}
			})
		}
		starters.Wait()
		stoppers.Wait()
		s.Wait()
		r := s.Result()
		if failed.Load() != 0 || s.Open() != 0 || r.Count()+s.Dropped() != goroutines*each {
			t.Errorf("%s: %d failed, %d open, %d spans, %d dropped", c.name, failed.Load(), s.Open(), r.Count(), s.Dropped())
		}
		if r.Count() < goroutines {
			t.Errorf("%s: %d spans only", c.name, r.Count())
		}
	}
}

func TestStopOfWhatIsNotOpen(t *testing.T) {
	for _, c := range stopwatches {
		s := c.new(4)
		for _, id := range []int64{0, 1, 3, 4, 1 << 40, 1<<63 - 1} {
			if err := s.Stop(id); !errors.Is(err, lap.ErrNotStarted) {
				t.Errorf("%s: Stop(%d) without a Start: %v", c.name, id, err)
			}
		}
		if err := s.Stop(-2); !errors.Is(err, lap.ErrUnknownID) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := s.Stop(lap.Full); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		first, second := s.Start(), s.Start()
		if err := s.Stop(first); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := s.Stop(first); !errors.Is(err, lap.ErrNotStarted) {
			t.Errorf("%s: second Stop: %v", c.name, err)
		}
		if n := s.Result().Count(); n != 1 || s.Open() != 1 {
			t.Errorf("%s: %d spans, %d open", c.name, n, s.Open())
		}
		if err := s.Stop(second); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A slot is used again, its ids are not.
func TestStopOfAnEarlierSpan(t *testing.T) {
	for _, c := range stopwatches {
		s := c.new(1)
		stopped := map[int64]bool{}
		for range 1000 {
			id := s.Start()
			if stopped[id] {
				t.Fatalf("%s: id %d twice", c.name, id)
			}
			for earlier := range stopped {
				if err := s.Stop(earlier); !errors.Is(err, lap.ErrNotStarted) {
					t.Fatalf("%s: Stop of an earlier span: %v", c.name, err)
				}
			}
			if err := s.Stop(id); err != nil {
				t.Fatal(err)
			}
			stopped[id] = true
		}
		if n := s.Result().Count(); n != 1000 || s.Open() != 0 {
			t.Errorf("%s: %d spans, %d open", c.name, n, s.Open())
		}
	}
}

// hrtime panicked at one Start more than announced, and had no room for others.
func TestFullStopwatch(t *testing.T) {
	for _, c := range stopwatches {
		for _, count := range []int{-1, 1, 2, 8} {
			s := c.new(count)
			var ids []int64
			for {
				id := s.Start()
				if id == lap.Full {
					break
				}
				ids = append(ids, id)
			}
			if len(ids) < count || s.Open() != len(ids) || s.Dropped() != 1 {
				t.Errorf("%s: room for %d spans, %d open, %d dropped", c.name, len(ids), s.Open(), s.Dropped())
			}
			for _, id := range ids {
				if err := s.Stop(id); err != nil {
					t.Error(err)
				}
			}
			if s.Start() == lap.Full || s.Result().Count() != int64(len(ids)) {
				t.Errorf("%s: stays full", c.name)
			}
		}
	}
}

func TestWaitIsForAsManyAsAnnounced(t *testing.T) {
	s := lap.NewStopwatch(3)
	waited := wait(s)
	for range 3 {
		id := s.Start()
		stillWaiting(t, waited)
		if err := s.Stop(id); err != nil {
			t.Fatal(err)
		}
	}
	<-waited
}

// More spans than there is ever room for are waited for all the same, one after another.
func TestWaitForMoreThanThereIsRoomFor(t *testing.T) {
	const count = 1<<20 + 2
	s := lap.NewStopwatch(count)
	waited := wait(s)
	for i := range count {
		if i == count-1 {
			stillWaiting(t, waited)
		}
		if err := s.Stop(s.Start()); err != nil {
			t.Fatal(err)
		}
	}
	<-waited
}

// Nobody stops a dropped span: without counting it, Wait would never return.
func TestWaitCountsDroppedSpans(t *testing.T) {
	s := lap.NewStopwatch(4)
	var ids []int64
	for range 4 {
		ids = append(ids, s.Start())
	}
	if id := s.Start(); id != lap.Full {
		t.Fatalf("room for more than 4 spans, id %d", id)
	}
	waited := wait(s)
	for i, id := range ids[:3] {
		stillWaiting(t, waited)
		if err := s.Stop(id); err != nil {
			t.Fatal(i, err)
		}
	}
	<-waited
	s = lap.NewStopwatch(2)
	first, second := s.Start(), s.Start()
	if err := s.Stop(first); err != nil {
		t.Fatal(err)
	}
	waited = wait(s)
	stillWaiting(t, waited)
	s.Start()
	s.Start() // no room
	<-waited
	if err := s.Stop(second); err != nil {
		t.Fatal(err)
	}
}

func wait(s *lap.Stopwatch) <-chan struct{} {
	waited := make(chan struct{})
	go func() {
		s.Wait()
		close(waited)
	}()
	return waited
}

func stillWaiting(t *testing.T, waited <-chan struct{}) {
	t.Helper()
	select {
	case <-waited:
		t.Fatal("Wait returned too early")
	default:
	}
}

func TestWaitForNothing(t *testing.T) {
	for _, count := range []int{0, -1, math.MinInt} {
		s := lap.NewStopwatch(count)
		s.Wait()
		if n := s.Result().Count(); n != 0 {
			t.Errorf("%d spans of none", n)
		}
	}
}

func TestSpansAreInNanoseconds(t *testing.T) {
	for _, c := range stopwatches {
		s := c.new(1)
		before := time.Now()
		id := s.Start()
		time.Sleep(2 * time.Millisecond)
		if err := s.Stop(id); err != nil {
			t.Fatal(err)
		}
		outer := time.Since(before)
		if got := s.Result().Max(); got < 1999*time.Microsecond || float64(got) > 1.001*float64(outer) {
			t.Errorf("%s: a span of %v in %v", c.name, got, outer)
		}
	}
}

func TestSpansAllocateNothing(t *testing.T) {
	for _, c := range stopwatches {
		s := c.new(16)
		if n := testing.AllocsPerRun(1000, func() { _ = s.Stop(s.Start()) }); n != 0 {
			t.Errorf("%s: %v allocations a span", c.name, n)
		}
	}
}

func TestResultWhileSpansRun(t *testing.T) {
	s := lap.NewStopwatchTSC(4)
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = s.Stop(s.Start())
				}
			}
		})
	}
	last := int64(0)
	for range 20 {
		r := s.Result()
		var total int64
		for b := range r.Buckets {
			total += b.Count
		}
		if total != r.Count() || r.Count() < last {
			t.Errorf("count %d, buckets hold %d, before %d", r.Count(), total, last)
		}
		last = r.Count()
	}
	close(stop)
	running.Wait()
}
