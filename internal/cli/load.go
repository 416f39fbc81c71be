package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/internal/store"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

type loadOptions struct {
	threads, connections, pipeline          int
	duration, timeout, warmup, slice        secondsFlag
	requests                                int64
	rate                                    float64
	ramp                                    string
	steps                                   []float64
	poisson                                 bool
	script                                  string
	headers, headerFiles                    []string
	method, body, bodyFile, unix            string
	insecure, noKeepalive, noResume         bool
	http2, websocket                        bool
	sni, ca, cert, key                      string
	latency                                 bool
	start, nginx, luajit, prefix            string
	serverPIDs                              []int
	serverCPUs, clientCPUs                  cpusFlag
	ab, abConf, abHeader                    []string
	selfTest, findMaxRate, profile          bool
	counted                                 profileOptions // what the profile is of
	stepTime                                secondsFlag
	slo, failIf, slower, metrics            []string
	minEffect                               percentFlag
	seed                                    uint64
	format, out, page, pageFormat, metricsF string
	join                                    bool
	on                                      string
	part                                    partFlag
	past                                    pastFlags

	url        string
	scriptArgs []string
	rule       *record.Comparing
	limits     []string
	gates      map[string]float64
}

// newLoadOptions are the defaults.
func newLoadOptions() loadOptions {
	return loadOptions{
		threads: 2, connections: 10, pipeline: 1, minEffect: 0.01,
		duration: secondsFlag(10 * time.Second), timeout: secondsFlag(2 * time.Second),
		stepTime: secondsFlag(5 * time.Second),
	}
}

func newLoadCommand(sys Sys) *cobra.Command {
	o := newLoadOptions()
	cmd := &cobra.Command{
		Use:   "load [flags] URL [-- SCRIPT ARGS]",
		Short: "Put load on a server; compare endpoints or configurations",
		Long: `Put load on an HTTP server, with wrk's flags and scripts.

Latencies are reported twice: raw, from when the request was sent, and corrected
for the requests that a slow answer kept from being sent. With a rate (-R) the
load does not wait for the server, and a latency counts from when the request
was due.

--ab URL_B, --ab-conf A.conf B.conf and --ab-header compare. All sides run in one
process with warm connections, in slices of 10 to 100 ms in balanced random order,
until every metric is decided or -d is spent; checking often does not raise the rate of
false alarms. The verdicts are those of 'moonlap compare'.

--start runs nginx with your configuration for as long as the load lasts, on CPUs of
its own, with its own folder for logs and temporary files.

Every report says how far the client can be trusted: X·R/N (1 in closed loop, where
no waiting is left out), how late its event loop was, offered and achieved rate, its
CPU share, and whether it made the tail itself.`,
		Example: `  moonlap load -t2 -c64 -d30s --latency http://127.0.0.1:8080/
  moonlap load -R 5000 -c 128 -d 60 http://127.0.0.1:8080/ --fail-if 'p99>10ms'
  moonlap load -s post.lua http://127.0.0.1:8080/ -- first second
  moonlap load http://127.0.0.1:8080/ctx --ab http://127.0.0.1:8080/var
  moonlap load --ab-conf old.conf new.conf -d 60s http://127.0.0.1:8080/
  moonlap load --start nginx.conf --find-max-rate --slo p99=10ms http://app/
  moonlap load --out today.jsonl --page today.html http://127.0.0.1:8080/
  moonlap load --on ssh:web1,web2 -c 64 -R 20000 http://gateway/
  moonlap load --join one.jsonl two.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.join {
				return runLoadJoin(cmd.Context(), sys, o, args)
			}
			if err := o.complete(cmd, args); err != nil {
				return err
			}
			if o.on != "" {
				return runLoadOn(cmd.Context(), sys, cmd, o)
			}
			return runLoad(cmd.Context(), sys, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *loadOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVarP(&o.threads, "threads", "t", o.threads, "`N` threads of the client")
	f.IntVarP(&o.connections, "connections", "c", o.connections, "`N` connections a side, over all threads")
	f.VarP(&o.duration, "duration", "d", "how long: 30s, 2m, or seconds; of a comparison at most")
	f.Int64VarP(&o.requests, "requests", "n", 0, "stop after `N` requests a side, instead of -d")
	f.Float64VarP(&o.rate, "rate", "R", 0, "`N` requests a second over all threads: open loop")
	f.StringVar(&o.ramp, "ramp", "", "open loop, the rate rises steadily over -d: `FROM..TO`")
	f.Float64SliceVar(&o.steps, "steps", nil, "open loop, `RATES` one after the other in equal parts of -d:\n1000,2000,4000")
	f.BoolVar(&o.poisson, "poisson", false, "open loop: requests come at random, not evenly")
	f.Var(&o.warmup, "warmup", "send requests for DURATION first, which count nowhere (default: 1s\nwhere sides are compared, else none)")
	f.Var(&o.timeout, "timeout", "a request without an answer by then has failed")

	f.StringVarP(&o.script, "script", "s", "", "wrk script in Lua, `FILE`; its arguments follow --")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "add a header: `'Name: value'`")
	f.StringArrayVar(&o.headerFiles, "header-file", nil, "add the headers in `FILE`, one a line")
	f.StringVar(&o.method, "method", "", "`METHOD` of requests (default GET, with a body POST)")
	f.StringVar(&o.body, "body", "", "`TEXT` to send")
	f.StringVar(&o.bodyFile, "body-file", "", "`FILE` to send")
	f.IntVar(&o.pipeline, "pipeline", o.pipeline, "`N` requests on their way on a connection")
	f.BoolVar(&o.noKeepalive, "no-keepalive", false, "a connection for every request")
	f.BoolVar(&o.http2, "http2", false, "speak HTTP/2")
	f.BoolVar(&o.websocket, "websocket", false, "speak WebSocket: send the body, await the echo")
	f.StringVar(&o.unix, "unix", "", "connect to the socket at `PATH`")
	f.BoolVar(&o.insecure, "insecure", false, "TLS: accept any certificate")
	f.StringVar(&o.sni, "sni", "", "TLS: ask for this `NAME`")
	f.StringVar(&o.ca, "ca", "", "TLS: trust the certificates in `FILE`")
	f.StringVar(&o.cert, "cert", "", "TLS: show the certificate in `FILE`")
	f.StringVar(&o.key, "key", "", "TLS: its key in `FILE`")
	f.BoolVar(&o.noResume, "no-resume", false, "TLS: do not resume sessions")

	f.StringVar(&o.start, "start", "", "start nginx with `CONF` for the run")
	f.StringVar(&o.prefix, "start-prefix", "", "nginx's prefix `FOLDER` (default: that of CONF, or the one\nabove a folder conf)")
	f.StringVar(&o.nginx, "nginx", "", "`PATH` of the nginx to start")
	f.StringVar(&o.luajit, "luajit", "", "`PATH` of the LuaJIT that runs the client")
	f.IntSliceVar(&o.serverPIDs, "server-pid", nil, "`PID` of the server, for its CPU time (default: the process\nthat listens)")
	f.Var(&o.serverCPUs, "server-cpus", "`CPUS` of the server that is started: 1,3 or 2-5")
	f.Var(&o.clientCPUs, "client-cpus", "`CPUS` of the client")

	o.addComparing(f)

	f.StringArrayVar(&o.failIf, "fail-if", nil, "exit with 4 above a `LIMIT`: 'p99>10ms', 'rate<5000',\n'errors>0.1%', 'cpu>20us'")
	f.StringArrayVar(&o.slo, "slo", nil, "the same, as `METRIC=VALUE`: p99=10ms, errors=0.1%")
	f.BoolVar(&o.findMaxRate, "find-max-rate", false, "search the highest rate that keeps --slo and --fail-if")
	f.Var(&o.stepTime, "step-time", "of that search: how long a rate is tried")

	f.BoolVar(&o.profile, "profile", false, "sample the server meanwhile, and keep a profile of each side")
	o.counted.addLoadModes(f)
	f.BoolVar(&o.latency, "latency", false, "print the whole distribution")
	f.StringVar(&o.format, "format", "text", "text, json, ndjson (a line an interval), csv or markdown")
	f.StringVar(&o.out, "out", "", "keep the record in `FILE`; - is stdout, without a report")
	f.StringVar(&o.page, "page", "", "write a page to `FILE.html`: timeline, percentiles, heat map")
	f.StringVar(&o.metricsF, "prometheus", "", "write the figures to `FILE` for Prometheus's node exporter")
	f.BoolVar(&o.join, "join", false, "merge the records of several machines into one report")
	f.StringVar(&o.on, onFlag, "", "load from several hosts together: ssh:`HOST,HOST`… or slurm:nodes=N,…\n-c, -n and rates are divided; -t threads on each")
	f.Var(&o.part, "part", "")
	_ = f.MarkHidden("part")
	o.past.addFlags(f)
}

// addComparing adds the flags of comparisons.
func (o *loadOptions) addComparing(f *pflag.FlagSet) {
	f.StringArrayVar(&o.ab, "ab", nil, "compare with this `URL`; repeat for more sides")
	f.StringArrayVar(&o.abConf, "ab-conf", nil, "compare nginx configurations: --ab-conf `A.conf` B.conf …")
	f.StringArrayVar(&o.abHeader, "ab-header", nil, "compare with requests that have this header: `'Name: value'`")
	f.BoolVar(&o.selfTest, "self-test", false, "compare the URL with itself: is a difference reported?")
	f.StringSliceVar(&o.metrics, "metrics", nil, "what sides are compared by, all corrected together: rate,\ncpu, mean, p50, p99.9 (default rate,cpu,p50,p99; with -R\ncpu,p50,p90,p99)")
	f.Var(&o.minEffect, "min-effect", "the smallest difference that matters")
	f.StringArrayVar(&o.slower, "fail-if-slower", nil, "exit with 4 when a side is proved to be slower than the\nfirst by more than this: `3%`, or p99=10% for one metric")
	f.Var(&o.slice, "slice", "how long a side runs before the next takes over (default: four times\nas long as its last answers take, 10ms to 100ms)")
	f.Uint64Var(&o.seed, "seed", 0, "every random choice follows from it (default: random)")
}

func runLoad(ctx context.Context, sys Sys, o loadOptions) error {
	luajit, err := runtime.Find(ctx, runtime.LuaJIT, runtime.Options{LuaJIT: o.luajit, Path: sys.Getenv("PATH")})
	if err != nil {
		return fmt.Errorf("the load engine runs in LuaJIT: %w", err)
	}
	servers, options, err := o.open(ctx, sys, luajit)
	defer servers.stop()
	if err != nil {
		return err
	}
	past, err := o.past.begin(ctx, sys, record.KindLoad, o.pastName(), o.rule)
	if err != nil {
		return err
	}
	sink, err := newSink(sys, o.out)
	if err != nil {
		return err
	}
	run := load.Run
	if o.findMaxRate {
		run = load.Search
	}
	var sampler *profiles.Sides
	if o.profile {
		if sampler, err = openLoadProfiler(ctx, sys, o.counted, &options); err != nil {
			return err
		}
		defer sampler.Close()
	}
	options.Part = o.part.of(sys.Stdin)
	line := newLoadLive(sys)
	begun := past.sign(opening(sys, record.KindLoad, ""))
	begun.Yardsticks = store.ReadYardsticks(begun.Environment, sys.Now()).Best()
	write := past.watch(sink.write)
	if sampler != nil {
		write = sampler.Before(write)
	}
	update := line.update
	if options.Part != nil { // who started all of them shows how far they are
		update = func(load.Progress) {}
	}
	rec, err := run(ctx, options, begun, write, update)
	line.clear()
	servers.stop()
	if sampler != nil {
		sampler.Into(rec)
	}
	if closeErr := sink.close(); err == nil {
		err = closeErr
	}
	if len(rec.Load.Slices) == 0 && err != nil || refused(err) {
		return err
	}
	return o.finish(ctx, sys, past, rec, err)
}

// finish reports what there is, whatever ended the run.
func (o loadOptions) finish(ctx context.Context, sys Sys, past *past, rec *record.Record, err error) error {
	res := load.Summarize(rec)
	report := func() error {
		for i, c := range res.Comparisons {
			if c.Metric == "" { // the baseline's
				res.Comparisons[i].Metric = sequential.MetricMean
			}
		}
		if o.out != "-" {
			if err := writeLoadReport(sys, res, o.format, o.latency); err != nil {
				return err
			}
		}
		return o.writePages(sys, res, rec.Run)
	}
	return past.finish(ctx, res.Results, report, func() error { return gatedLoad(o.gates, res) }, loadOutcome(res), err)
}

// pastName is what the history goes by.
func (o loadOptions) pastName() string {
	if o.start != "" {
		return o.start
	}
	return o.url
}

// loadOutcome is the exit code that results deserve.
func loadOutcome(res *record.LoadResults) error {
	switch res.Outcome {
	case record.LoadOK:
		if !res.Complete {
			return exitWith(ExitPartial, nil)
		}
		return nil
	case record.LoadLimitExceeded, record.LoadFalseAlarm:
		return exitWith(ExitRegression, nil)
	case record.LoadRateNotReached, record.LoadClientSaturated, record.LoadServerDied, record.LoadHostLost:
		return exitWith(ExitPartial, nil)
	}
	return exitWith(ExitError, nil)
}

// gatedLoad is exit code 4 when a comparison proves what a gate forbids.
func gatedLoad(gates map[string]float64, res *record.LoadResults) error {
	for _, c := range res.Comparisons {
		allowed, gated := gates[c.Metric]
		if gated && c.Verdict == record.Slower && c.Ratio.Low > 1+allowed {
			return exitWith(ExitRegression, fmt.Errorf("%s: %s is more than %s slower than %s", c.Metric, c.B, percentFlag(allowed).String(), c.A))
		}
	}
	return nil
}

// scriptOutput is where what a script prints goes: to stdout with a report for people, else out of its way.
func (o loadOptions) scriptOutput(sys Sys) io.Writer {
	if o.format == "text" && o.out != "-" {
		return sys.Stdout
	}
	return sys.Stderr
}

func randomSeed() uint64 { return rand.Uint64N(1 << 53) }
