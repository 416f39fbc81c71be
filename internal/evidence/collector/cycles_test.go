package collector

import (
	"encoding/json"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// TestCycles: cycles and steps are told from readings, also where some of their phases fall between two.
func TestCycles(t *testing.T) {
	const ms = time.Millisecond
	at := func(when time.Duration, phase luajit.Phase, white uint8, inUse, estimate uint64, collecting bool) reading {
		return reading{
			At: when, Used: when / 10, Collecting: collecting, GC: luajit.GC{InUse: inUse, Estimate: estimate, Phase: phase, White: white},
		}
	}
	waiting := func(r reading, used time.Duration) reading {
		r.Used = used
		return r
	}
	for name, c := range map[string]struct {
		readings []reading
		want     Collections
	}{
		"one, seen in all its phases": {
			[]reading{
				at(10*ms, 0, 1, 100, 50, false), at(11*ms, 1, 1, 110, 50, false), at(12*ms, 1, 1, 120, 50, false),
				at(13*ms, 3, 2, 130, 125, false), at(14*ms, 4, 2, 100, 90, false), at(15*ms, 0, 2, 95, 70, false),
			},
			Collections{Seen: 5 * ms, Cycles: 1, Last: []Cycle{{5 * ms, 125, 70}}, Lowest: 95, Highest: 130},
		},
		"two, no pause between them was seen": {
			[]reading{
				at(10*ms, 0, 1, 100, 50, false), at(11*ms, 1, 1, 110, 50, false), at(12*ms, 4, 2, 120, 115, false),
				at(13*ms, 1, 2, 90, 60, false), at(14*ms, 4, 1, 100, 98, false), at(15*ms, 0, 1, 70, 55, false),
			},
			Collections{Seen: 5 * ms, Cycles: 2, Last: []Cycle{{3 * ms, 115, 60}, {3 * ms, 98, 55}}, Lowest: 70, Highest: 120},
		},
		"all of it between two readings": {
			[]reading{at(10*ms, 0, 1, 100, 50, false), at(12*ms, 0, 2, 60, 55, false)},
			Collections{Seen: 2 * ms, Cycles: 1, Last: []Cycle{{2 * ms, 100, 55}}, Lowest: 60, Highest: 60},
		},
		"marked and swept between two readings": {
			[]reading{
				at(10*ms, 0, 1, 100, 50, false), at(11*ms, 1, 1, 110, 50, false), at(12*ms, 0, 2, 60, 55, false),
			},
			Collections{Seen: 2 * ms, Cycles: 1, Last: []Cycle{{2 * ms, 110, 55}}, Lowest: 60, Highest: 110},
		},
		"a step, in which nothing is allocated, and another one right after it": {
			[]reading{
				at(10*ms, 1, 1, 100, 50, false), at(11*ms, 1, 1, 101, 50, true), at(13*ms, 1, 1, 101, 50, true), at(15*ms, 4, 2, 101, 101, true),
				at(16*ms, 4, 2, 90, 90, true), at(17*ms, 4, 2, 2000, 80, true), at(18*ms, 4, 2, 2000, 80, false),
			},
			Collections{
				Seen: 8 * ms, Cycles: 1, Lowest: 90, Highest: 2000, Longest: Step{0, 7 * ms, 4}, // of less CPU time than the kernel may not have told yet
			},
		},
		"a long step, and one in which the worker mostly waited for a processor": {
			[]reading{
				at(100*ms, 1, 1, 100, 50, false), at(200*ms, 1, 1, 101, 50, true), at(400*ms, 1, 1, 101, 50, true), at(450*ms, 1, 1, 102, 50, false),
				at(500*ms, 1, 1, 103, 50, true), waiting(at(900*ms, 1, 1, 103, 50, false), 52*ms),
			},
			Collections{
				Seen: 500 * ms, Missed: 300 * ms, Lowest: 101, Highest: 103, Longest: Step{10 * ms, 45 * ms, 1},
			},
		},
		"readings so far apart that there may have been several cycles": {
			[]reading{at(10*ms, 0, 1, 100, 50, false), at(500*ms, 3, 2, 120, 110, false), at(501*ms, 0, 2, 60, 50, false)},
			Collections{Seen: 1 * ms, Missed: 490 * ms, Lowest: 60, Highest: 120},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := Watch{}
			for _, r := range c.readings {
				w.next(r)
			}
			got := w.take()
			got.Allocated, got.Guessed, got.Resolution = 0, 0, 0
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(- want, + got)\n%s", diff)
			}
		})
	}
}

// TestCollections: a real worker whose collector runs when it is told to, and that counts itself: the cycles, what each freed,
// all that was allocated, and how long a collection held it are what it says.
func TestCollections(t *testing.T) {
	pid, client := nginxtest.Start(t, nginxtest.Conf{HTTP: `init_worker_by_lua_block {
		collectgarbage("stop")
		local kept = {}
		for i = 1, 200000 do kept[i] = { i } end
		package.loaded.kept = kept
	}`, Server: `location = /count { content_by_lua_block { ngx.print(collectgarbage("count") * 1024) } }
	location = /collect { content_by_lua_block {
		local keep
		for i = 1, 50000 do keep = { i, i, i, i } end
		local began, before = os.clock(), collectgarbage("count")
		collectgarbage()
		local after = collectgarbage("count")
		collectgarbage("stop")
		ngx.print(string.format("[%.0f,%.0f,%.0f]", before * 1024, after * 1024, (os.clock() - began) * 1e9))
	} }`})
	w := NewWatch(workertest.Open(t, pid), 2*time.Millisecond, 8*time.Millisecond)
	w.Follow(t.Context())() // the first reading
	ask := func(path string, into any) {
		t.Helper()
		res, err := client.Get("http://worker" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(into); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(path, err, res.Status)
		}
	}
	var begin, over float64
	ask("/count", &begin)
	end := w.Follow(t.Context())
	const calls = 6
	var freed, highest, lowest, before, after, longest float64
	shortest := math.Inf(1)
	lowest = math.Inf(1)
	for range calls {
		var told [3]float64
		ask("/collect", &told)
		before, after = told[0], told[1]
		freed += before - after
		highest, lowest = max(highest, before), min(lowest, after)
		longest, shortest = max(longest, told[2]), min(shortest, told[2])
	}
	ask("/count", &over)
	c := end()
	t.Logf("%+v", c)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	const around = 200 << 10 // what requests allocate
	if right := over - begin + freed; math.Abs(c.Allocated-right) > 2*c.Guessed+right/100+around {
		t.Errorf("%.0f bytes allocated, %.0f of them guessed; Lua counts %.0f", c.Allocated, c.Guessed, right)
	}
	if c.Cycles > calls || c.Missed == 0 && c.Cycles != calls {
		t.Errorf("%d cycles, of %d; %v were missed", c.Cycles, calls, c.Missed)
	}
	if float64(c.Highest) > highest+around || float64(c.Lowest) < lowest-around {
		t.Errorf("from %d to %d bytes in use; Lua counts from %.0f to %.0f", c.Lowest, c.Highest, lowest, highest)
	}
	if c.Missed == 0 { // else it may have been the last one
		if len(c.Last) != calls {
			t.Fatalf("%d cycles have ended", len(c.Last))
		}
		last := c.Last[calls-1]
		if math.Abs(float64(last.Marked)-before) > around || math.Abs(float64(last.Left)-after) > around {
			t.Errorf("%d of %d bytes were left; Lua counts %.0f of %.0f", last.Left, last.Marked, after, before)
		}
	}
	const tick = 10 * time.Microsecond // of clock(3), and what it takes
	const part = 4                     // a step may seem to end while it sweeps
	dense := c.Missed == 0 && c.Resolution < time.Millisecond
	if l := c.Longest; l.Least > time.Duration(longest)+tick || dense && l.Most < time.Duration(shortest)/part {
		t.Errorf("a step of %v to %v; collections took from %v to %v", l.Least, l.Most, time.Duration(shortest), time.Duration(longest))
	}
}
