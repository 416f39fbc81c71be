package cli

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/memory"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// plan is what the record says of how it was measured.
func (o *loadOptions) plan() (record.Load, error) {
	protocol := "http1"
	switch {
	case o.http2:
		protocol = "h2"
	case o.websocket:
		protocol = "websocket"
	}
	p := record.Load{
		Threads: o.threads, Connections: o.connections, DurationNS: float64(o.duration), Requests: o.requests, Rate: o.rate,
		SliceNS: float64(o.slice), WarmupNS: float64(o.warmup), TimeoutNS: float64(o.timeout), Protocol: protocol,
		Pipeline: o.pipeline, Script: o.script, Metrics: o.metrics, Gates: o.gates, Limits: o.limits,
		Searching: o.findMaxRate, SelfTest: o.selfTest,
	}
	if o.requests > 0 {
		p.DurationNS = 0
	}
	whole := float64(o.duration)
	switch {
	case o.ramp != "":
		first, last, err := o.rampEnds()
		if err != nil {
			return p, err
		}
		p.Stages = []record.LoadStage{{Rate: last, DurationNS: whole, From: &first}}
	case len(o.steps) > 0:
		for _, rate := range o.steps {
			if rate <= 0 {
				return p, usageErrorf("--steps: rates are above 0")
			}
			p.Stages = append(p.Stages, record.LoadStage{Rate: rate, DurationNS: whole / float64(len(o.steps))})
		}
	}
	if o.rate > 0 || len(p.Stages) > 0 || o.findMaxRate {
		p.Arrivals = "constant"
		if o.poisson {
			p.Arrivals = "poisson"
		}
	}
	if o.findMaxRate {
		p.DurationNS = float64(o.stepTime)
	}
	return p, nil
}

// rampEnds are the rates that a ramp begins and ends with.
func (o *loadOptions) rampEnds() (first, last float64, err error) {
	from, to, _ := strings.Cut(o.ramp, "..")
	first, err1 := strconv.ParseFloat(from, 64)
	last, err2 := strconv.ParseFloat(to, 64)
	if err1 != nil || err2 != nil || first < 0 || last <= 0 {
		err = usageErrorf("--ramp %s: as in 100..5000", o.ramp)
	}
	return first, last, err
}

// request is what all sides have in common.
func (o *loadOptions) request() (runtime.LoadSide, error) {
	side := runtime.LoadSide{
		Unix: o.unix, Method: o.method, Body: o.body, Args: o.scriptArgs,
		TLS: runtime.LoadTLS{Insecure: o.insecure, SNI: o.sni, CA: o.ca, Cert: o.cert, Key: o.key, NoResume: o.noResume},
	}
	var err error
	absolute := func(file string) string {
		if file == "" || err != nil {
			return ""
		}
		var path string
		path, err = filepath.Abs(file)
		return path
	}
	side.BodyFile = absolute(o.bodyFile)
	side.Script = o.script
	if side.Method == "" && (o.body != "" || o.bodyFile != "") {
		side.Method = "POST"
	}
	for _, text := range o.headers {
		h, err := load.ParseHeader(text)
		if err != nil {
			return side, usageErrorf("-H: %w", err)
		}
		side.Headers = append(side.Headers, h)
	}
	for _, file := range o.headerFiles {
		const most = 1 << 20
		text, err := files.Read(file, most)
		if err != nil {
			return side, err
		}
		list, err := load.ParseHeaders(string(text))
		if err != nil {
			return side, fmt.Errorf("%s: %w", file, err)
		}
		side.Headers = append(side.Headers, list...)
	}
	return side, err
}

// side makes a side of a URL.
func (o *loadOptions) side(ctx context.Context, base runtime.LoadSide, name, text string) (load.Side, error) {
	u, err := load.Target(text)
	if err != nil {
		return load.Side{}, usageError(err)
	}
	if o.unix == "" {
		if base.Addresses, err = load.Resolve(ctx, u); err != nil {
			return load.Side{}, err
		}
	}
	base.Name, base.URL = name, u.String()
	base.Headers = slices.Clone(base.Headers)
	side := load.Side{LoadSide: base}
	pids := o.serverPIDs
	side.Find = func() []int {
		if len(pids) > 0 {
			var all []int
			for _, pid := range pids {
				all = append(all, load.Family(pid)...)
			}
			slices.Sort(all)
			return slices.Compact(all)
		}
		return load.Listeners(base.Addresses)
	}
	return side, nil
}

// open starts what is to be started and makes the sides.
func (o *loadOptions) open(ctx context.Context, sys Sys, luajit record.Runtime) (*loadServers, load.Options, error) {
	servers := &loadServers{}
	options := load.Options{Runtime: luajit, Seed: o.seed, NoKeepalive: o.noKeepalive, Stderr: sys.Stderr, Stdout: o.scriptOutput(sys)}
	base, err := o.request()
	if err != nil {
		return servers, options, err
	}
	if o.start != "" || len(o.abConf) > 0 {
		o.shareCPUs()
		if err := servers.start(ctx, sys, o); err != nil {
			return servers, options, err
		}
		options.Died = servers.died
	}
	if options.Plan, err = o.plan(); err != nil {
		return servers, options, err
	}
	options.ClientCPUs, options.MemoryBytes = o.clientCPUs, memoryOfThread(o.threads)
	if err := o.sides(ctx, base, servers, &options); err != nil {
		return servers, options, err
	}
	if len(options.Sides) > 1 {
		options.Comparing = o.rule
	}
	return servers, options, enoughFiles(len(options.Sides) * o.connections)
}

func (o *loadOptions) sides(ctx context.Context, base runtime.LoadSide, servers *loadServers, options *load.Options) error {
	add := func(name, url string, change func(*load.Side)) error {
		s, err := o.side(ctx, base, name, url)
		if err != nil {
			return err
		}
		change(&s)
		options.Sides = append(options.Sides, s)
		return nil
	}
	for i, name := range shortNames(o.abConf) {
		if err := add(name, servers.url(i, o.url), func(s *load.Side) { servers.own(i, s) }); err != nil {
			return err
		}
	}
	if len(o.abConf) > 0 {
		return nil
	}
	found := func(s *load.Side) {
		if o.start != "" {
			s.Find = servers.pids(0)
		}
	}
	if err := add(endpointName(o.url, len(o.ab) > 0), o.url, found); err != nil {
		return err
	}
	return o.others(add, found)
}

// others are the sides that are compared with the first, each with the processes that are found of its server.
func (o *loadOptions) others(add func(name, url string, change func(*load.Side)) error, found func(*load.Side)) error {
	for _, text := range o.ab {
		if err := add(endpointName(text, true), text, found); err != nil {
			return err
		}
	}
	for _, text := range o.abHeader {
		h, err := load.ParseHeader(text)
		if err != nil {
			return usageErrorf("--ab-header: %w", err)
		}
		err = add(text, o.url, func(s *load.Side) {
			found(s)
			s.Headers = append(s.Headers, h)
		})
		if err != nil {
			return err
		}
	}
	if o.selfTest {
		return add("the same again", o.url, found)
	}
	return nil
}

// endpointName is the path of a URL where several are compared, as they mostly differ in that.
func endpointName(text string, compared bool) string {
	if u, err := url.Parse(text); err == nil && compared && u.Path != "" {
		return u.RequestURI()
	}
	return text
}

// shortNames are the names of files without what their folders have in common.
func shortNames(paths []string) []string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = filepath.Base(p)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names) {
		return paths
	}
	return names
}

// shareCPUs gives client and server CPUs of their own, where nobody has said which.
func (o *loadOptions) shareCPUs() {
	all := allowedCPUs()
	if len(all) < 2 || len(o.serverCPUs) > 0 || len(o.clientCPUs) > 0 {
		return
	}
	client := min(max(1, o.threads), max(1, len(all)/2))
	o.clientCPUs, o.serverCPUs = cpusFlag(all[:client]), cpusFlag(all[client:])
	o.threads = min(o.threads, client)
}

// memoryOfThread is how much private memory a thread of the client may take, so that a script which grows meets an error of
// its own and not the end of something else: all together half of what is free. 0 is no limit.
func memoryOfThread(threads int) int64 {
	const least = 128 << 20
	spare, known := memory.System{}.Spare()
	if !known {
		return 0
	}
	return max(least, spare/2/int64(threads))
}

func allowedCPUs() []int {
	if list := load.AllowedCPUs(); len(list) > 0 {
		return list
	}
	list := make([]int, goruntime.NumCPU())
	for i := range list {
		list[i] = i
	}
	return list
}

// enoughFiles refuses more connections than files may be open.
func enoughFiles(connections int) error {
	const others = 64
	if limit := load.MostFiles(); limit > 0 && connections+others > limit {
		return fmt.Errorf("%d connections need more files than the %d that may be open here: allow more with 'ulimit -n %d', or use fewer -c",
			connections, limit, connections+others)
	}
	return nil
}
