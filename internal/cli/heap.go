package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/heap"
	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/memory"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/worker"
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
		Short: "Say what is in the Lua heap of a running nginx worker, and who holds it",
		Long: `Say what is in the Lua heap of a running nginx worker: objects and bytes by
type, the largest tables, and who holds them, by paths such as
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
	case o.out == "" && o.format != "":
		return usageErrorf("--format %s: where to? --out FILE, or - for stdout", o.format)
	case o.json && o.out == "-":
		return usageErrorf("--json and --out -: stdout can take one of them")
	case o.out == "":
		return nil
	case o.format == "":
		if o.format = profile.FormatOf(o.out); o.format == "" {
			return usageErrorf("%s: in which format? --format %s", o.out, heapFormats)
		}
	}
	return nil
}

func runHeap(ctx context.Context, sys Sys, o heapOptions, file string) error {
	var before *heap.Snapshot
	var err error
	if o.since != "" { // before a worker is stopped
		if before, err = readHeap(o.since); err != nil {
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
	var missed error // workers that could not be looked at
	switch {
	case file == "":
		after, missed, err = lookAtHeaps(ctx, sys, o)
	case process.IsCore(file):
		after, err = awaitedSteps(ctx, sys, "looking at the heap in "+file, func(at *steps) (*heap.Snapshot, error) {
			return heapInCore(file, o.root, o.copying(at))
		})
	default:
		after, err = readHeap(file)
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

// lookAtHeaps looks at one worker after the other: no two stand still at once. missed tells those that
// could not be looked at, where others could.
func lookAtHeaps(ctx context.Context, sys Sys, o heapOptions) (s *heap.Snapshot, missed, err error) {
	pids, err := o.Find()
	if err != nil {
		return nil, nil, err
	}
	s = &heap.Snapshot{Schema: record.Schema, Kind: heap.Kind, Time: sys.Now().Round(time.Second)}
	var errs []error
	for _, pid := range pids {
		all, err := awaitedSteps(ctx, sys, fmt.Sprintf("looking at the heap of worker %d", pid),
			func(at *steps) ([]heap.Heap, error) { return heapsOf(pid, o.copying(at)) })
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

func heapsOf(pid int, o heap.Options) ([]heap.Heap, error) {
	w, err := worker.Open(pid)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	all, err := heap.Take(w, o)
	var long *process.PauseError
	if errors.As(err, &long) {
		err = fmt.Errorf("%w; --pause %v lets it stand still for so long, --pause 0 reads it while it runs", err,
			roundUp(2*long.Needed))
	}
	return all, withRemedy(err, o)
}

// withRemedy says what to do where there is too little memory.
func withRemedy(err error, o heap.Options) error {
	var short *memory.ShortError
	switch {
	case !errors.As(err, &short):
		return err
	case short.Theirs:
		return fmt.Errorf("%w; nothing was copied: raise that limit, or wait until the worker has less in swap", err)
	case o.Spill != "":
		return fmt.Errorf("%w; --spill %s is in memory, too: choose a folder on a disk", err, o.Spill)
	}
	return fmt.Errorf("%w; --spill DIR keeps the copy in a file in DIR, on a disk, which takes little memory", err)
}

// heapInCore looks at a core; its time is that of the file.
func heapInCore(file, root string, o heap.Options) (*heap.Snapshot, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	w, err := worker.OpenCore(file, root)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	all, err := heap.Take(w, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, withRemedy(err, o))
	}
	return &heap.Snapshot{Schema: record.Schema, Kind: heap.Kind, Time: info.ModTime().Round(time.Second), Heaps: all}, nil
}

// roundUp is a duration that people would type.
func roundUp(d time.Duration) time.Duration {
	const step = 50 * time.Millisecond
	return (d + step - 1) / step * step
}

func readHeap(name string) (*heap.Snapshot, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := heap.Read(f, record.Schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
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
	title := o.title
	if title == "" {
		title = fmt.Sprintf("Lua heap, %s", s.Time.Format(time.DateTime))
	}
	var b bytes.Buffer
	if o.format == "json" {
		if err := s.Write(&b); err != nil {
			return err
		}
	} else {
		p := s.Profile(title)
		if err := report.Heap(&b, s, besideGraph); err != nil {
			return err
		}
		p.Report = b.String()
		b.Reset()
		if err := p.Write(&b, o.format, record.Schema); err != nil {
			return err
		}
	}
	if o.out == "-" {
		_, err := sys.Stdout.Write(b.Bytes())
		return err
	}
	if err := files.Write(o.out, b.Bytes(), files.Private); err != nil {
		return fmt.Errorf("the flame graph cannot be written: %w", err)
	}
	return nil
}

// heapChange is what --json writes with --since.
type heapChange struct {
	Schema string       `json:"schema"`
	Kind   string       `json:"kind"`
	Before time.Time    `json:"before"`
	After  time.Time    `json:"after"`
	Types  []heap.Type  `json:"types"` // after less before
	Change *heap.Change `json:"change"`
}

func (o *heapOptions) draw(sys Sys, before, after *heap.Snapshot) error {
	options := reportOptions(sys)
	switch {
	case o.out == "-":
		return nil
	case o.json && before != nil:
		encode := jsontext.NewEncoder(sys.Stdout)
		return encode.Encode(heapChange{
			Schema: record.Schema, Kind: "heap change", Before: before.Time, After: after.Time,
			Types: heap.CompareTypes(before, after), Change: heap.Compare(before.Holders(), after.Holders()),
		})
	case o.json:
		return after.Write(sys.Stdout)
	case before != nil:
		return report.HeapDiff(sys.Stdout, before, after, options)
	}
	return report.Heap(sys.Stdout, after, options)
}
