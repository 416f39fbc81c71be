package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/heap"
	"github.com/moonlap/moonlap/internal/process"
)

type heapOptions struct {
	chosenWorkers
	pause              time.Duration
	spill              string // folder for the copy
	save, since        string
	root               string // of a core's files
	json               bool
	format, out, title string
}

// heapFormats are those of profile, and for JSON what --save writes.
const heapFormats = "html, svg, pprof, folded, speedscope or json"

func newHeapCommand(sys Sys) *cobra.Command {
	var o heapOptions
	cmd := &cobra.Command{
		Use:   "heap --pid PID|--master PID|--all|CORE|SNAPSHOT [flags]",
		Short: "Show what is in a worker's Lua heap, and what holds it",
		Long: `Show what is in the Lua heap of a running nginx worker: objects and bytes by
type, the largest tables, and what holds them, by paths such as
package.loaded["app.cache"].get → upvalue store. It needs no debug symbols, no
restart and no change of the configuration.

A holder holds what would be free without it (its dominator tree). What several
hold stands below the first place that holds all of it, by a short path.

The worker stands still while its memory is copied, for --pause at most. The
copy is read afterwards. A rehearsal shows whether --pause is enough; if it is
not, the worker is not stopped. With --pause 0 it runs on; objects that change
meanwhile may be wrong, and the report says how much is not accounted for.

Where there is too little memory for the copy, it is refused. --spill DIR keeps
the copy on a disk.

A core file of a worker, or of another program with LuaJIT, is read in the same
way.

--save keeps a snapshot. --since compares with one, and says which places have
grown. A file in place of workers is drawn again. The ending of --out, or
--format, says what is written: a flame graph of what is held (html, svg),
pprof, folded, speedscope or json.`,
		Example: `  moonlap heap --pid 4711
  moonlap heap --pid 4711 --save before.json
  moonlap heap --pid 4711 --since before.json
  moonlap heap --since before.json after.json
  moonlap heap /var/crash/core.4711
  moonlap heap --master $(cat /run/nginx.pid) --pause 200ms --out heap.html`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			file := strings.Join(args, "")
			if err := o.check(file); err != nil {
				return err
			}
			return runHeap(cmd.Context(), sys, o, file)
		},
	}
	f := cmd.Flags()
	o.addFlags(f)
	f.DurationVar(&o.pause, "pause", 50*time.Millisecond, "how long a worker may stand still;\n0: not at all")
	f.StringVar(&o.spill, "spill", "", "keep the copy in a file in `DIR`, on a disk,\ninstead of in memory")
	f.StringVar(&o.root, "root", "", "`FOLDER` that has a core's programs and libraries,\nas they were in / (default: where they were)")
	f.StringVar(&o.save, "save", "", "keep the snapshot in `FILE`, for --since")
	f.StringVar(&o.since, "since", "", "compare with the snapshot in `FILE`")
	f.BoolVar(&o.json, "json", false, "write what was found to stdout as JSON")
	f.StringVar(&o.out, "out", "", "write a flame graph to `FILE`; - is stdout")
	f.StringVar(&o.format, "format", "", heapFormats+",\nwhere the file's ending does not say")
	f.StringVar(&o.title, "title", "", "title of the flame graph")
	return cmd
}

func (o *heapOptions) check(file string) error {
	if file != "" && o.given() {
		return usageErrorf("workers or a file, not both")
	}
	core := file != "" && process.IsCore(file)
	if o.root != "" && !core {
		return usageErrorf("--root is for core files")
	}
	if file == "" {
		if err := o.chosenWorkers.check(); err != nil {
			return err
		}
	}
	if o.out == "" && o.format == "json" {
		o.json, o.format = true, ""
	}
	switch {
	case file != "" && !core && o.save != "":
		return usageErrorf("%s is saved already: --save is for workers", file)
	case o.json && o.out == "-":
		return usageErrorf("--json and --out -: stdout can take one of them")
	}
	var err error
	o.format, err = outFormat(o.out, o.format, heapFormats)
	return err
}

func runHeap(ctx context.Context, sys Sys, o heapOptions, file string) error {
	var before *heap.Snapshot
	var err error
	if o.since != "" { // before a worker is stopped
		if before, err = heap.ReadFile(o.since); err != nil {
			return err
		}
	}
	for _, name := range []string{o.save, o.out} {
		if name != "" && name != "-" {
			if err := writableFolder(name); err != nil {
				return err
			}
		}
	}
	var after *heap.Snapshot
	var missed error // of workers whose heap could not be read
	switch {
	case file == "":
		after, missed, err = heapsOf(ctx, sys, o)
	case process.IsCore(file):
		after, err = awaitedSteps(ctx, sys, "reading the heap in "+file, func(at *steps) (*heap.Snapshot, error) {
			return heap.OfCore(file, o.root, o.copying(at))
		})
	default:
		after, err = heap.ReadFile(file)
	}
	if err != nil {
		return err
	}
	if err := o.write(sys, after); err != nil {
		return err
	}
	if err := o.draw(sys, before, after); err != nil {
		return err
	}
	if missed != nil {
		return exitWith(ExitPartial, missed)
	}
	return nil
}

// heapsOf reads the heaps of one worker after the other: no two are stopped at once. missed names the workers whose heap could not
// be read, where others could.
func heapsOf(ctx context.Context, sys Sys, o heapOptions) (s *heap.Snapshot, missed, err error) {
	pids, err := o.Find()
	if err != nil {
		return nil, nil, err
	}
	s = heap.NewSnapshot(sys.Now())
	var errs []error
	for _, pid := range pids {
		all, err := awaitedSteps(ctx, sys, fmt.Sprintf("reading the heap of worker %d", pid),
			func(at *steps) ([]heap.Heap, error) { return heap.OfWorker(pid, o.copying(at)) })
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("worker %d: %w", pid, err))
			continue
		}
		s.Heaps = append(s.Heaps, all...)
	}
	if len(s.Heaps) == 0 {
		return nil, nil, errors.Join(errs...)
	}
	return s, errors.Join(errs...), nil
}

func (o *heapOptions) copying(at *steps) heap.Options {
	return heap.Options{Pause: o.pause, Spill: o.spill, Progress: at.step, Note: at.note}
}

// write writes the files that were asked for; each appears when it is whole.
func (o *heapOptions) write(sys Sys, s *heap.Snapshot) error {
	if o.save != "" {
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			return err
		}
		if err := files.Write(o.save, b.Bytes(), files.Private); err != nil {
			return fmt.Errorf("the snapshot cannot be saved: %w", err)
		}
	}
	if o.out == "" {
		return nil
	}
	title := cmp.Or(o.title, "Lua heap, "+s.Time.Format(time.DateTime))
	var b bytes.Buffer
	if o.format == "json" {
		if err := s.Write(&b); err != nil {
			return err
		}
	} else {
		var beside strings.Builder
		if err := errors.Join(heap.Draw(&beside, s, besideGraph), s.Profile(title).Write(&b, o.format, beside.String())); err != nil {
			return err
		}
	}
	return writeOut(sys, o.out, "the flame graph", b.Bytes(), files.Private)
}

func (o *heapOptions) draw(sys Sys, before, after *heap.Snapshot) error {
	options := reportOptions(sys)
	switch {
	case o.out == "-":
		return nil
	case o.json && before != nil:
		return heap.WriteChange(sys.Stdout, before, after)
	case o.json:
		return after.Write(sys.Stdout)
	case before != nil:
		return heap.DrawDiff(sys.Stdout, before, after, options)
	}
	return heap.Draw(sys.Stdout, after, options)
}
