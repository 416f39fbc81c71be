package resumes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/runtime/luajittest"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/sample/sampletest"
	"github.com/moonlap/moonlap/internal/worker"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// phasesServer has Lua in each phase that a request over a plain connection comes by, and tells how often each ran, and
// how often it gave way.
const phasesServer = `
location = /all {
	set_by_lua_block $ignored { count("set") return "" }
	rewrite_by_lua_block { count("rewrite") ngx.sleep(0.001) count("rewrite again") }
	access_by_lua_block { count("access") }
	content_by_lua_block {
		count("content")
		for _ = 1, 3 do ngx.sleep(0.001) count("content again") end
		local t = ngx.thread.spawn(function() ngx.sleep(0.001) end)
		ngx.thread.wait(t)
		assert(ngx.timer.at(0, function() count("timer") ngx.sleep(0.001) count("timer again") end))
		ngx.say("hello")
	}
	header_filter_by_lua_block { count("header_filter") }
	body_filter_by_lua_block { count("body_filter") }
	log_by_lua_block { count("log") }
}
location = /balanced {
	proxy_pass http://balanced;
	log_by_lua_block { count("log") }
}
location = /sub {
	content_by_lua_block { count("content") ngx.location.capture("/part") count("content again") ngx.say("sub") }
}
location = /part {
	content_by_lua_block { count("content") ngx.sleep(0.001) count("content again") ngx.say("part") }
	body_filter_by_lua_block { count("body_filter") }
}
location = /nested {
	content_by_lua_block { wait(0.02) ngx.say("nested") }
	body_filter_by_lua_block { wait(0.03) }
}
location = /paused {
	content_by_lua_block {
		wait(0.05)
		ngx.sleep(0.001)
		wait(0.04)
		ngx.say("paused")
	}
}
location = /plain { return 200; }
location = /counts {
	content_by_lua_block { ngx.print(encode()) }
}`

const phasesConf = `
upstream balanced { server 0.0.0.1; balancer_by_lua_block {
	count("balancer")
	assert(require("ngx.balancer").set_current_peer("127.0.0.1", 1))
} }
init_worker_by_lua_block {
	counts = {}
	function count(what) counts[what] = (counts[what] or 0) + 1 end
	function encode()
		local all = {}
		for k, v in pairs(counts) do all[#all + 1] = ("%q:%d"):format(k, v) end
		return "{" .. table.concat(all, ",") .. "}"
	end
	function wait(seconds)
		ngx.update_time()
		local stop = ngx.now() + seconds
		repeat ngx.update_time() until ngx.now() >= stop
	end
}
`

// observed prepares to time a worker's resumes.
func observed(t *testing.T, w *worker.Worker, s *sample.Sampler, budget float64) (*sample.Sampling, *observer) {
	t.Helper()
	sampling, err := sample.Of(w).Sampling(s, sample.Wants{})
	if err != nil {
		t.Fatal(err)
	}
	one, err := observeResumes(observe.At{Worker: w, Sampling: sampling, Budget: budget})
	if err != nil {
		sampling.Close()
		t.Fatal(err)
	}
	return sampling, one.(*observer)
}

// timed has a worker's resumes timed while something happens.
func timed(t *testing.T, w *worker.Worker, s *sample.Sampler, during func()) *Result {
	t.Helper()
	sampling, o := observed(t, w, s, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := sampling.Run(ctx, time.Hour, func(time.Duration) {}, func() {})
		ended <- err
	}()
	err := o.Attach()
	if err == nil {
		during()
		o.Detach()
	}
	stop()
	if failed := <-ended; !errors.Is(failed, context.Canceled) {
		err = errors.Join(err, failed)
	}
	result, failed := o.Result()
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return result.(*Result)
}

func fetch(t *testing.T, client *http.Client, path string) []byte {
	t.Helper()
	res, err := client.Get("http://worker" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestResumes: each run of Lua in each phase is counted once, as what begins or goes on; what the worker counts itself is the
// same.
func TestResumes(t *testing.T) {
	s := sampletest.Sampler(t)
	pid, client := nginxtest.Start(t, nginxtest.Conf{HTTP: phasesConf, Server: phasesServer})
	w := workertest.Open(t, pid)
	asked := 0
	counts := func() (c map[string]int) {
		asked++
		if err := json.Unmarshal(fetch(t, client, "/counts"), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	const requests = 20
	var own map[string]int
	r := timed(t, w, s, func() {
		for range requests {
			fetch(t, client, "/all")
			fetch(t, client, "/balanced")
			fetch(t, client, "/sub")
		}
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if own = counts(); own["timer again"] == requests {
				break
			}
		}
		fetch(t, client, "/plain") // so the run that answered before it has returned
	})
	type figures struct{ Runs, Began, Waits int }
	want, got := map[string]figures{}, map[string]figures{}
	for what, n := range own {
		phase, again := strings.CutSuffix(what, " again")
		f := want[phase]
		f.Runs += n
		if again {
			f.Waits += n
		} else {
			f.Began += n
		}
		want[phase] = f
	}
	content := want["content"]
	content.Runs += asked
	content.Began += asked
	// A light thread gives way: then the one that has begun it goes on. And when it has ended.
	content.Runs += 2 * requests
	content.Waits += 2 * requests
	want["content"] = content
	all := 0
	for _, p := range r.Phases {
		got[p.Phase] = figures{p.Own.Count, p.Began, p.Wait.Count}
		if p.Whole.Count != p.Own.Count || p.Own.Total <= 0 || p.Own.Total > p.Whole.Total {
			t.Errorf("%s: %d runs took %v, with what they entered %d took %v", p.Phase, p.Own.Count, p.Own.Total, p.Whole.Count, p.Whole.Total)
		}
		if n := p.Wait.Count; (n > 0) != (p.Wait.Total > 0) || p.Wait.Longest > p.Wait.Total { // how long a timer takes depends on other events
			t.Errorf("%s: %d waits of %v, the longest %v", p.Phase, n, p.Wait.Total, p.Wait.Longest)
		}
		all += p.Own.Count
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("what the worker counts, and what is counted (+):\n%s", d)
	}
	unseen := slices.DeleteFunc(slices.Clone(r.Unseen), func(phase string) bool { return phase == "ssl_sess_store" }) // nginx may have no SSL
	if all != r.Count || r.Lost != 0 || len(unseen) != 0 || r.Each <= 0 || len(r.Workers) != 1 || r.Workers[0].PID != pid {
		t.Errorf("%d runs of %d, %d lost, %v unseen, %v each, of %v", r.Count, all, r.Lost, r.Unseen, r.Each, r.Workers)
	}
}

// TestResumesNested: the time of a filter that Lua's output goes through is not that of the Lua which prints.
func TestResumesNested(t *testing.T) {
	s := sampletest.Sampler(t)
	pid, client := nginxtest.Start(t, nginxtest.Conf{HTTP: phasesConf, Server: phasesServer})
	r := timed(t, workertest.Open(t, pid), s, func() { fetch(t, client, "/nested"); fetch(t, client, "/plain") })
	phases := map[string]Phase{}
	for _, p := range r.Phases {
		phases[p.Phase] = p
	}
	const printing, filtering = 20 * time.Millisecond, 30 * time.Millisecond
	const slack = 2 * time.Millisecond // of ngx.now()
	content, filter := phases["content"], phases["body_filter"]
	n := time.Duration(filter.Own.Count)
	if n == 0 || filter.Own.Total < n*(filtering-slack) || filter.Whole.Total != filter.Own.Total {
		t.Errorf("the filter took %v, %d times", filter.Own.Total, n)
	}
	if content.Own.Total < printing-slack || content.Whole.Total < content.Own.Total+filter.Whole.Total {
		t.Errorf("content took %v, with what it entered %v", content.Own.Total, content.Whole.Total)
	}
	if content.Own.Total > content.Whole.Total-filter.Whole.Total {
		t.Errorf("content's own %v has some of the filter's %v of %v", content.Own.Total, filter.Whole.Total, content.Whole.Total)
	}
}

// TestResumesLong: a run that took long is told of, with its request, where it began, and where it waits then.
func TestResumesLong(t *testing.T) {
	s := sampletest.Sampler(t)
	pid, client := nginxtest.Start(t, nginxtest.Conf{HTTP: phasesConf, Server: phasesServer})
	w := workertest.Open(t, pid)
	defer nginxtest.Request(t, client, "/paused")() // one is in flight at the beginning, which tells where its URI is
	var first, second *Long
	for end := time.Now().Add(30 * time.Second); (first == nil || second == nil) && time.Now().Before(end); {
		r := timed(t, w, s, func() { time.Sleep(500 * time.Millisecond) })
		for i := range r.Longest {
			switch l := &r.Longest[i]; {
			case l.URI != "/paused":
			case l.GoesOn:
				second = l
			default:
				first = l
			}
		}
	}
	if first == nil || second == nil {
		t.Fatalf("none: %+v, %+v", first, second)
	}
	const slack = 2 * time.Millisecond // of ngx.now()
	if first.Phase != "content" || !first.Pauses || first.Own < 50*time.Millisecond-slack {
		t.Errorf("%+v", first)
	}
	const line, next = "content_by_lua(", ":3"
	if !strings.Contains(first.From, line) {
		t.Fatalf("it begins with %q", first.From)
	}
	if first.In != "ngx.sleep" || !strings.Contains(first.Waits, line) || !strings.HasSuffix(first.Waits, next) {
		t.Errorf("it waits at %q, in %q", first.Waits, first.In)
	}
	if second.Phase != "content" || second.Pauses || second.Own < 40*time.Millisecond-slack {
		t.Errorf("%+v", second)
	}
	if !strings.Contains(second.From, line) || !strings.HasSuffix(second.From, next) {
		t.Errorf("it goes on in %q", second.From)
	}
}

// TestResumesUnexported: a function that nginx does not export is an error with its name, and a program without nginx is another one.
func TestResumesUnexported(t *testing.T) {
	pid, _ := nginxtest.Start(t, nginxtest.Conf{})
	w := workertest.Open(t, pid)
	const name = "ngx_http_lua_none"
	var none target
	if err := add(w, &none, name, ofThread, 0); err == nil || !strings.Contains(err.Error(), "does not export "+name) {
		t.Error(err)
	}
	program := workertest.Await(t, luajittest.Script(t, "while true do end").Process.Pid)
	if _, err := observeResumes(observe.At{Worker: program}); err == nil || !strings.Contains(err.Error(), "its Lua serves no HTTP requests") {
		t.Error(err)
	}
}

// TestResumesBursts: a budget that a few resumes exceed ends the probing after its trial, and nothing is left in the worker.
func TestResumesBursts(t *testing.T) {
	s := sampletest.Sampler(t)
	pid, client := nginxtest.Start(t, nginxtest.Conf{HTTP: phasesConf, Server: phasesServer})
	w := workertest.Open(t, pid)
	defer nginxtest.Request(t, client, "/all")()
	r := &Result{}
	for end := time.Now().Add(30 * time.Second); r.Count == 0 && time.Now().Before(end); {
		sampling, o := observed(t, w, s, 1e-9)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- o.Run(ctx) }()
		_, err := sampling.Run(t.Context(), time.Second, func(time.Duration) {}, func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		result, failed := o.Result()
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		r = result.(*Result)
	}
	if r.Count == 0 || r.Bursts != 1 || r.Probed >= r.Elapsed || r.Cost <= 0 {
		t.Errorf("%d resumes in %d bursts, %v of %v, cost %v", r.Count, r.Bursts, r.Probed, r.Elapsed, r.Cost)
	}
	code, at, err := w.Object.Code(runThread)
	if err != nil {
		t.Fatal(err)
	}
	const compared = 8 // bytes; a breakpoint is one at the beginning
	now := make([]byte, compared)
	if err := w.ReadAt(now, at); err != nil || !bytes.Equal(now, code[:compared]) {
		t.Errorf("%s is left as % x, not % x: %v", runThread, now, code[:compared], err)
	}
}
