package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/worker"
)

func lockTimes(probed time.Duration, zone string, waits ...time.Duration) *worker.LockTimes {
	l := &worker.LockTimes{Elapsed: time.Second, Probed: probed, Taken: len(waits), Each: time.Microsecond, Budget: 0.01, Bursts: 1}
	l.Cost = time.Duration(l.Taken) * l.Each
	if len(waits) > 0 {
		l.Zones = []worker.ZoneLock{{Zone: zone}}
	}
	for _, w := range waits {
		l.Zones[0].Waits.Add(w)
		l.Zones[0].Holds.Add(2 * w)
	}
	return l
}

// TestLocksOf: rates are of the time that was probed, and of all workers, those included that were not.
func TestLocksOf(t *testing.T) {
	waits := []time.Duration{time.Microsecond, 2 * time.Microsecond, time.Millisecond, time.Millisecond}
	got := locksOf([]worker.LockTimes{
		*lockTimes(100*time.Millisecond, "cats", waits...), *lockTimes(400*time.Millisecond, "cats", waits...),
		*lockTimes(500*time.Millisecond, "dogs", waits[0]), *lockTimes(0, ""),
	})
	if got.Probed != 0.25 || got.Bursts != 4 || got.Budget != 0.01 || got.Cost != 9e-6/4 || len(got.Zones) != 2 {
		t.Fatalf("%+v", got)
	}
	const perSecond = (4/0.1 + 4/0.4) * 4 / 3
	cats, dogs := got.Zones[0], got.Zones[1]
	if cats.Zone != "cats" || cats.Rate < perSecond-0.01 || cats.Rate > perSecond+0.01 || cats.Wait.Count != 8 || cats.Hold.P99 < 1_900_000 {
		t.Errorf("%+v", cats)
	}
	if dogs.Zone != "dogs" || dogs.Wait.Count != 1 || dogs.Wait.Total != 1000 {
		t.Errorf("%+v", dogs)
	}
	if got.AtLeast {
		t.Error("9 µs of a second slowed the workers down")
	}
	slowed := lockTimes(10*time.Microsecond, "cats", waits...)
	if !locksOf([]worker.LockTimes{*slowed}).AtLeast {
		t.Error("4 of 10 µs were timing")
	}
	if none := locksOf([]worker.LockTimes{{}}); none.Probed != 0 || none.Zones == nil || len(none.Zones) != 0 {
		t.Errorf("%+v", none)
	}
}

// TestLockMetrics: histograms of all workers of an nginx, which go on growing when a worker is replaced.
func TestLockMetrics(t *testing.T) {
	var m Metrics
	var page strings.Builder
	if _, err := m.WriteTo(&page); err != nil || strings.Contains(page.String(), "moonlap_lock") {
		t.Errorf("nobody asked for locks: %v %s", err, page.String())
	}
	row := func(pid int, l *worker.LockTimes) Row { return Row{PID: pid, Master: 1, moment: moment{locks: l}} }
	evil := "a\"b"
	m.Observe(Snapshot{Workers: []Row{row(2, lockTimes(time.Second, evil, 500, time.Millisecond)), row(3, lockTimes(time.Second, evil, time.Hour))}})
	m.Observe(Snapshot{Workers: []Row{row(4, lockTimes(time.Second, evil, 2*time.Microsecond)), {PID: 5, Master: 1, Error: "ended"}}})
	page.Reset()
	if _, err := m.WriteTo(&page); err != nil {
		t.Fatal(err)
	}
	metrics, types, err := parse(page.String())
	if err != nil || types["moonlap_lock_wait_seconds"] != "histogram" || types["moonlap_locks_probed_seconds_total"] != "counter" {
		t.Fatalf("%v %v\n%s", err, types, page.String())
	}
	for _, c := range []struct {
		want   float64
		metric []string
	}{
		{3, []string{"locks_probed_seconds_total", "master", "1"}},
		{4e-6, []string{"locks_cost_seconds_total", "master", "1"}},
		{4, []string{"lock_wait_seconds_count", "master", "1", "zone", evil}},
		{1, []string{"lock_wait_seconds_bucket", "zone", evil, "le", "1.024e-06"}},
		{2, []string{"lock_wait_seconds_bucket", "zone", evil, "le", "4.096e-06"}},
		{3, []string{"lock_wait_seconds_bucket", "zone", evil, "le", "1.073741824"}},
		{4, []string{"lock_wait_seconds_bucket", "zone", evil, "le", "+Inf"}},
		{2 * (3600 + 0.001 + 2.5e-6), []string{"lock_hold_seconds_sum", "zone", evil}},
	} {
		if got := find(metrics, c.metric[0], c.metric[1:]...); !(got > c.want-1e-6 && got < c.want+1e-6) {
			t.Errorf("%v is %v, not %v", c.metric, got, c.want)
		}
	}
	m.Observe(Snapshot{Workers: []Row{{PID: 4, Master: 1, Error: "ended"}}})
	if len(m.locks) != 0 {
		t.Error("an nginx that is not watched any more is kept")
	}
	if !slices.IsSorted(lockBounds) || len(lockBounds) < 10 {
		t.Error(lockBounds)
	}
}
