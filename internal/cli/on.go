package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/fleet"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat/hosts"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

const onFlag = "on"

// measuredOnHosts gives a command --on: the same run on other hosts, each with a record of its own.
func measuredOnHosts(sys Sys, cmd *cobra.Command) *cobra.Command {
	here := cmd.RunE
	on := cmd.Flags().String(onFlag, "", "measure on other hosts: ssh:`HOST,HOST`… or slurm:nodes=N,…")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *on == "" {
			return here(cmd, args)
		}
		return runOn(cmd.Context(), sys, cmd, args, *on)
	}
	return cmd
}

// runOn has a command's run done on hosts, and reports what they found together.
func runOn(ctx context.Context, sys Sys, cmd *cobra.Command, args []string, on string) error {
	list, err := fleet.Hosts(on)
	if err != nil {
		return usageErrorf("--on %w", err)
	}
	flags := cmd.Flags()
	format, _ := flags.GetString("format")
	if err := errors.Join(oneOf("--format", format, "text", "json"), notOnHosts(cmd)); err != nil {
		return err
	}
	sent, err := remoteFlags(sys, cmd)
	if err != nil {
		return err
	}
	out, _ := flags.GetString("out")
	watcher, err := newHostWatcher(sys, list, out)
	if err != nil {
		return err
	}
	defer watcher.remove()
	job := fleet.Job{Args: func(int) []string {
		return slices.Concat([]string{cmd.Name()}, sent, []string{"--out", "-", "--"}, args)
	}}
	outcomes, err := watcher.run(ctx, list, job, existing(args), flags.Changed("rev"), watcher)
	if err != nil {
		return err
	}
	return watcher.report(ctx, outcomes, format)
}

// run runs a job on hosts, with the program that this is and the files of the working folder, and with others named.
func (w *hostWatcher) run(ctx context.Context, list []fleet.Host, job fleet.Job, named []string, history bool, to fleet.Watcher) ([]fleet.Outcome, error) {
	work, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if job.Load, err = fleet.Carry(work, named, history); err != nil {
		return nil, err
	}
	if job.Program, err = os.Executable(); err != nil {
		return nil, err
	}
	if text := w.sys.Getenv("MOONLAP_ON_SILENCE"); text != "" {
		if job.Silence, err = time.ParseDuration(text); err != nil || job.Silence <= 0 {
			return nil, usageErrorf("MOONLAP_ON_SILENCE=%s: a duration such as 30s", text)
		}
	}
	stop := w.draw()
	outcomes, err := fleet.Run(ctx, list, job, to)
	stop()
	return outcomes, errors.Join(err, w.close())
}

// notOnHosts refuses what only makes sense on one host.
func notOnHosts(cmd *cobra.Command) error {
	why := func(r flagRule) string {
		text, _ := r.oneHost.of(cmd.Name())
		return text
	}
	name := changed(cmd.Flags(), func(r flagRule) bool { return why(r) != "" })
	if name == "" {
		return nil
	}
	return usageErrorf("--%s does not go with --on: %s", name, why(ruleOf(name)))
}

// existing are the arguments that name files here.
func existing(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		_, err := os.Lstat(arg)
		return err != nil
	})
}

// remoteFlags are the flags that the user gave, but for those that stay here, as they came. Files of flags are named
// as from the working folder, which is another one there.
func remoteFlags(sys Sys, cmd *cobra.Command) (sent []string, err error) {
	work, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	given := slices.Clone(sys.Args)
	if i := slices.Index(given, cmd.Name()); i >= 0 {
		given = given[i+1:]
	}
	fresh := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { fresh.AddFlag(f) })
	fresh.SetInterspersed(cmd.Name() != "time")
	err = fresh.ParseAll(given, func(f *pflag.Flag, value string) error {
		r := ruleOf(f.Name)
		if r.file {
			value = besideWork(work, value)
		}
		if stays, _ := r.stays.of(cmd.Name()); !stays {
			sent = append(sent, "--"+f.Name+"="+value)
		}
		return nil
	})
	return sent, err
}

// A hostWatcher keeps the record of each host in a file of its own, and shows how far they are.
type hostWatcher struct {
	sys    Sys
	folder string // temporary; "" where the user wants to keep the records
	line   *progress
	counts string // what is counted of each host
	mark   string // by this in its record

	mu    sync.Mutex
	hosts []*hostRecord
}

type hostRecord struct {
	fleet.Host
	path  string
	file  io.WriteCloser
	done  int // of what is counted
	size  int64
	ended bool
}

func newHostWatcher(sys Sys, list []fleet.Host, out string) (*hostWatcher, error) {
	w := &hostWatcher{sys: sys, line: newProgress(sys), counts: "processes", mark: `{"type":"finish"`}
	if out == "-" {
		return nil, usageErrorf("--out - does not go with --on: each host has a record of its own; name a file")
	}
	if out == "" {
		var err error
		if w.folder, err = runtime.NewFolder(); err != nil {
			return nil, err
		}
		out = filepath.Join(w.folder, "record.jsonl")
	}
	taken := map[string]bool{}
	for _, h := range list {
		path := recordOf(out, h.Name)
		for n := 2; taken[path]; n++ { // a:b and a_b
			path = recordOf(out, fmt.Sprintf("%s-%d", h.Name, n))
		}
		taken[path] = true
		f, err := files.Create(path, files.Shared)
		if err != nil {
			w.close()
			w.remove()
			return nil, fmt.Errorf("no record can be kept: %w", err)
		}
		w.hosts = append(w.hosts, &hostRecord{Host: h, path: path, file: f})
	}
	return w, nil
}

// recordOf is where the record of a host is kept: today.web1.jsonl beside today.jsonl.
func recordOf(out, host string) string {
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/\\: \t\n", r) {
			return '_'
		}
		return r
	}, host)
	extension := filepath.Ext(out)
	return strings.TrimSuffix(out, extension) + "." + safe + extension
}

func (w *hostWatcher) of(host fleet.Host) *hostRecord {
	return w.hosts[w.number(host)]
}

func (w *hostWatcher) number(host fleet.Host) int {
	return slices.IndexFunc(w.hosts, func(h *hostRecord) bool { return h.Name == host.Name })
}

// Record keeps a piece of a host's record.
func (w *hostWatcher) Record(host fleet.Host, piece []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.of(host)
	h.done += bytes.Count(piece, []byte(w.mark))
	n, err := h.file.Write(piece)
	h.size += int64(n)
	if err != nil {
		return fmt.Errorf("its record cannot be kept: %w", err)
	}
	return nil
}

// Note shows what a host wrote on stderr, except its progress.
func (w *hostWatcher) Note(host fleet.Host, line string) {
	if strings.HasPrefix(line, "round ") {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line.Clear()
	note(w.sys, host.Name+": "+strings.TrimPrefix(line, "moonlap: "))
}

// Ended notes that nothing more comes from a host.
func (w *hostWatcher) Ended(o fleet.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(o.Host).ended = true
}

// noteFailure notes why a host has no result, or not all of it.
func (w *hostWatcher) noteFailure(ctx context.Context, o fleet.Outcome) {
	if o.Code == ExitInterrupted && ctx.Err() == nil {
		note(w.sys, o.Name()+": the run was interrupted there, not here")
	}
	if o.Err != nil && !errors.Is(o.Err, context.Canceled) {
		note(w.sys, fmt.Sprintf("%s: %v", o.Name(), o.Err))
	}
}

// draw shows how far the hosts are until it is stopped.
func (w *hostWatcher) draw() (stop func()) {
	began := w.sys.Now()
	return w.line.keepDrawing(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		var parts []string
		for _, h := range w.hosts {
			state := "waiting"
			switch {
			case h.size > 0 && h.ended:
				state = fmt.Sprintf("%d, ended", h.done)
			case h.size > 0:
				state = fmt.Sprint(h.done)
			case h.ended:
				state = "nothing"
			}
			parts = append(parts, h.Name+" "+state)
		}
		w.line.Update(w.counts+": "+strings.Join(parts, ", "), w.sys.Now().Sub(began), 0)
	})
}

func (w *hostWatcher) close() (err error) {
	for _, h := range w.hosts {
		err = errors.Join(err, h.file.Close())
	}
	return err
}

func (w *hostWatcher) remove() {
	if w.folder != "" {
		os.RemoveAll(w.folder)
	}
}

// report says what the hosts found, and names those that found nothing.
func (w *hostWatcher) report(ctx context.Context, outcomes []fleet.Outcome, format string) error {
	failed, interrupted, code := 0, false, ExitOK
	var found []hosts.Found
	for i, o := range outcomes {
		h := w.hosts[i]
		interrupted = interrupted || errors.Is(o.Err, context.Canceled)
		w.noteFailure(ctx, o)
		if o.Err != nil || o.Code == ExitInterrupted || o.Code == ExitError || o.Code == ExitUsage {
			failed++
		} else {
			code = max(code, o.Code)
		}
		if h.size == 0 {
			continue
		}
		one, err := readHost(context.WithoutCancel(ctx), w.sys, o.Name(), h.path)
		if err != nil && (one != nil || o.Err == nil && o.Code == ExitOK) { // else it has been said why
			note(w.sys, fmt.Sprintf("%s: %v", h.Name, err))
		}
		if one != nil {
			found = append(found, *one)
		}
	}
	if len(found) > 0 {
		if err := writeHosts(w.sys, hosts.Merge(found, minEffectOf(found)), format); err != nil {
			return err
		}
	}
	switch {
	case interrupted || ctx.Err() != nil:
		return exitWith(ExitInterrupted, nil)
	case failed == len(outcomes):
		return errors.New("no host has measured")
	case failed > 0:
		return exitWith(ExitPartial, nil)
	}
	if code != ExitOK {
		return exitWith(code, nil)
	}
	return nil
}

// minEffectOf is the smallest difference that matters, as given to the runs on hosts.
func minEffectOf(found []hosts.Found) float64 {
	for _, f := range found {
		if f.Rule != nil {
			return f.Rule.MinEffect
		}
	}
	return sequential.DefaultComparing().MinEffect
}

// readHost reads the record of a host up to its fault, if it has one; nil where there is nothing in it.
func readHost(ctx context.Context, sys Sys, name, path string) (*hosts.Found, error) {
	rec, err := readCases(ctx, sys, path)
	if rec == nil {
		return nil, err
	}
	return foundIn(rec, name, path), err
}

// foundIn is what a host's record says.
func foundIn(rec *record.Record, name, path string) *hosts.Found {
	return &hosts.Found{Host: record.Host{Name: name, File: path}, Results: judged(rec).results, Rule: rec.Run.Comparing}
}

func writeHosts(sys Sys, res *record.HostsResult, format string) error {
	if format == "json" {
		return record.WriteHostsJSON(sys.Stdout, res)
	}
	return report.Hosts(sys.Stdout, res, reportOptions(sys))
}

// reportHosts merges the records of several hosts, each named by its file.
func reportHosts(ctx context.Context, sys Sys, paths []string, format string) error {
	if err := oneOf("--format", format, "text", "json"); err != nil {
		return err
	}
	var found []hosts.Found
	var faults error
	for i, name := range hostNames(paths) {
		one, err := readHost(ctx, sys, name, paths[i])
		faults = errors.Join(faults, err)
		if one == nil {
			continue
		}
		if len(found) > 0 && found[0].Results.Kind != one.Results.Kind {
			return usageErrorf("%s is a record of %s, %s one of %s: give those of one run on several hosts",
				paths[0], found[0].Results.Kind, paths[i], one.Results.Kind)
		}
		found = append(found, *one)
	}
	if len(found) == 0 {
		return faults
	}
	if err := writeHosts(sys, hosts.Merge(found, minEffectOf(found)), format); err != nil || faults == nil {
		return err
	}
	return exitWith(ExitPartial, faults)
}

// hostNames are the files' names without what all of them share at both ends: today.web1.jsonl and today.web2.jsonl
// are web1 and web2.
func hostNames(paths []string) []string {
	names := slices.Clone(paths)
	first, last := commonEnds(names)
	for i, name := range names {
		short := name[first : len(name)-last]
		if short == "" {
			return paths
		}
		names[i] = short
	}
	return names
}

// commonEnds are the bytes that all names share at the beginning and at the end, in whole parts between dots and
// slashes, so that web1 and web2 do not become 1 and 2.
func commonEnds(names []string) (first, last int) {
	shared := func(at func(name string, i int) byte) (n int) {
		for i := 0; ; i++ {
			for _, name := range names {
				if i >= len(name) || at(name, i) != at(names[0], i) {
					return n
				}
			}
			if c := at(names[0], i); c == '.' || c == '/' {
				n = i + 1
			}
		}
	}
	first = shared(func(name string, i int) byte { return name[i] })
	last = shared(func(name string, i int) byte { return name[len(name)-1-i] })
	for _, name := range names {
		if first+last > len(name) {
			return 0, 0
		}
	}
	return first, last
}

// newServeHostCommand is the host's side of --on: moonlap starts it there itself.
func newServeHostCommand(sys Sys) *cobra.Command {
	return &cobra.Command{
		Use:    fleet.Command + " FOLDER",
		Short:  "Run what another moonlap asks for, and clean up",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := fleet.Serve(cmd.Context(), sys.Stdin, sys.Stdout, sys.Stderr, args[0])
			if err != nil || code == ExitOK {
				return err
			}
			return exitWith(code, nil)
		},
	}
}
