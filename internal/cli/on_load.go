package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/fleet"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/record"
)

// partFlag is which of several machines that load together this is: 2/8. Its stdin says when to begin, by a line, and
// when there is enough, by its end.
type partFlag struct{ index, count int }

func (p *partFlag) Set(text string) error {
	index, count, _ := strings.Cut(text, "/")
	var err1, err2 error
	p.index, err1 = strconv.Atoi(index)
	p.count, err2 = strconv.Atoi(count)
	if err := errors.Join(err1, err2); err != nil || p.index < 0 || p.index >= p.count {
		return fmt.Errorf("a part such as 0/2, not %q", text)
	}
	return nil
}

func (p *partFlag) String() string {
	if p.count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.index, p.count)
}

func (p *partFlag) Type() string { return "PART" }

// of is the part as the engine's room knows it; nil where this machine makes the whole load.
func (p *partFlag) of(stdin io.Reader) *load.Part {
	if p.count == 0 {
		return nil
	}
	begin, enough := make(chan struct{}), make(chan struct{})
	go func() {
		line := make([]byte, 1)
		if n, _ := io.ReadFull(stdin, line); n > 0 {
			close(begin)
			io.Copy(io.Discard, stdin)
		}
		close(enough)
	}()
	return &load.Part{Index: p.index, Count: p.count, Begin: begin, Enough: enough}
}

// runLoadOn makes a load from several hosts at once, and reports it as one.
func runLoadOn(ctx context.Context, sys Sys, cmd *cobra.Command, o loadOptions) error {
	list, err := fleet.Hosts(o.on)
	if err != nil {
		return usageErrorf("--on %w", err)
	}
	if err := notOnHosts(cmd); err != nil {
		return err
	}
	args, err := o.shares(sys, cmd, len(list))
	if err != nil {
		return err
	}
	if u, err := url.Parse(o.url); err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()) {
		note(sys, u.Hostname()+" is each host itself: every host loads its own server")
	}
	named := slices.DeleteFunc(append(slices.Clone(o.headerFiles), o.script, o.bodyFile, o.ca, o.cert, o.key), func(s string) bool { return s == "" })
	w := &loadWatcher{joint: load.NewJoint(len(list))}
	outcomes, err := w.run(ctx, sys, list, o.out, named, func(i int) []string { return args[i] })
	defer w.remove()
	if err != nil {
		return err
	}
	return w.report(ctx, o, outcomes)
}

// shares are the arguments of each host's moonlap.
func (o *loadOptions) shares(sys Sys, cmd *cobra.Command, hosts int) ([][]string, error) {
	if o.connections < hosts {
		return nil, usageErrorf("-c %d are too few connections for %d hosts", o.connections, hosts)
	}
	if o.requests > 0 && o.requests < int64(hosts) {
		return nil, usageErrorf("-n %d are too few requests for %d hosts", o.requests, hosts)
	}
	sent, err := remoteFlags(sys, cmd)
	if err != nil {
		return nil, err
	}
	slice := o.slice
	if slice == 0 { // on one machine the engine finds it; here all need the same
		slice = secondsFlag(100 * time.Millisecond)
	}
	per := func(x float64) string { return strconv.FormatFloat(x/float64(hosts), 'g', -1, 64) }
	all := make([][]string, hosts)
	for i := range all {
		own := append([]string{"load"}, sent...)
		add := func(name, value string) { own = append(own, "--"+name+"="+value) }
		add("threads", fmt.Sprint(min(o.threads, o.connections/hosts)))
		add("connections", fmt.Sprint(partOf(int64(o.connections), hosts, i)))
		add("seed", fmt.Sprint(o.seed))
		add("slice", slice.String())
		add("part", fmt.Sprintf("%d/%d", i, hosts))
		if o.requests > 0 {
			add("requests", fmt.Sprint(partOf(o.requests, hosts, i)))
		}
		if o.rate > 0 {
			add("rate", per(o.rate))
		}
		if o.ramp != "" {
			first, last, err := o.rampEnds()
			if err != nil {
				return nil, err
			}
			add("ramp", per(first)+".."+per(last))
		}
		for _, rate := range o.steps {
			add("steps", per(rate))
		}
		all[i] = slices.Concat(own, []string{"--out=-", o.url, "--"}, o.scriptArgs)
	}
	return all, nil
}

// partOf is the share of the machine of that number: what does not divide goes to the first ones.
func partOf(whole int64, machines, number int) int64 {
	share := whole / int64(machines)
	if int64(number) < whole%int64(machines) {
		share++
	}
	return share
}

// A loadWatcher keeps the hosts' records, and follows them to start and end the hosts together.
type loadWatcher struct {
	*hostWatcher
	joint   *load.Joint
	feeds   []*io.PipeWriter
	reading sync.WaitGroup
}

func (w *loadWatcher) run(ctx context.Context, sys Sys, list []fleet.Host, out string, named []string, args func(int) []string) (_ []fleet.Outcome, err error) {
	if w.hostWatcher, err = newHostWatcher(sys, list, out); err != nil {
		return nil, err
	}
	w.counts, w.mark = "slices", `{"type":"load_slice"`
	for i := range list {
		read, write := io.Pipe()
		w.feeds = append(w.feeds, write)
		w.reading.Go(func() { w.follow(i, read) })
	}
	outcomes, err := w.hostWatcher.run(ctx, list, fleet.Job{Args: args, Meeting: &fleet.Meeting{Start: w.joint.Start(), Enough: w.joint.Enough()}}, named, false, w)
	w.reading.Wait()
	return outcomes, err
}

// follow reads a host's record as it comes. What cannot be read is reported when the whole of it is read again.
func (w *loadWatcher) follow(i int, from *io.PipeReader) {
	whole := false
	lines := record.NewReader(from, w.hosts[i].path)
	for {
		l, err := lines.Next()
		if err != nil {
			break
		}
		if _, whole = l.(record.End); w.joint.Add(i, l, w.sys.Now()) != nil {
			break
		}
	}
	io.Copy(io.Discard, from)
	w.joint.Ended(i, whole)
}

// Record keeps a piece of a host's record, and reads it.
func (w *loadWatcher) Record(host fleet.Host, piece []byte) error {
	err := w.hostWatcher.Record(host, piece)
	w.feeds[w.number(host)].Write(piece)
	return err
}

// Ended has the others not wait for a host.
func (w *loadWatcher) Ended(o fleet.Outcome) {
	w.hostWatcher.Ended(o)
	w.feeds[w.number(o.Host)].Close()
}

// report says what the hosts found together.
func (w *loadWatcher) report(ctx context.Context, o loadOptions, outcomes []fleet.Outcome) error {
	var machines []load.Machine
	var missing []string
	interrupted := ctx.Err() != nil
	for i, out := range outcomes {
		h := w.hosts[i]
		interrupted = interrupted || errors.Is(out.Err, context.Canceled)
		w.noteFailure(ctx, out)
		rec, err := readRecord(context.WithoutCancel(ctx), w.sys, h.path)
		if rec == nil || len(rec.Load.Slices) == 0 {
			missing = append(missing, h.Name)
			continue
		}
		if err != nil && out.Err == nil {
			note(w.sys, fmt.Sprintf("%s: %v", h.Name, err))
		}
		one := load.Machine{LoadHost: record.LoadHost{Name: out.Name()}, Record: rec}
		if w.folder == "" {
			one.File = h.path
		}
		if after, known := w.joint.Began(i); known {
			ns := float64(after)
			one.BeganNS = &ns
		}
		machines = append(machines, one)
	}
	switch {
	case len(machines) == 0 && interrupted:
		return exitWith(ExitInterrupted, nil)
	case len(machines) == 0:
		return errors.New("no host has put load on the server")
	}
	res, joined, err := load.SummarizeTogether(machines, nil)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		load.AddProblems(res, load.Missing(missing))
	}
	if err := o.writeTogether(w.sys, res, joined); err != nil {
		return err
	}
	if interrupted {
		return exitWith(ExitInterrupted, nil)
	}
	if err := gatedLoad(o.gates, res); err != nil {
		return err
	}
	return loadOutcome(res)
}

// writeTogether writes the report and the pages of a load from several machines.
func (o loadOptions) writeTogether(sys Sys, res *record.LoadResults, joined *record.Record) error {
	if err := writeLoadReport(sys, res, o.format, o.latency); err != nil {
		return err
	}
	return o.writePages(sys, res, joined.Run)
}

// besideWork is a file's name as it is below the working folder, which is another one on a host.
func besideWork(work, name string) string {
	if in, err := filepath.Rel(work, name); err == nil && filepath.IsAbs(name) {
		return in
	}
	return name
}
