package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// GoTests are the benchmarks of Go packages: their test binaries, built once for all
// processes of a run, and the cases found in them.
type GoTests struct {
	folder string
	procs  int // GOMAXPROCS of every process
	cases  []*goCase

	mu sync.Mutex // of what the cases learn while they are measured
}

// A goPackage is a package that declares benchmarks.
type goPackage struct {
	path       string // import path
	dir        string // its folder, in which go test runs, too
	shown      string // its folder as the user would write it
	binary     string
	vm         record.VM
	benchmarks []goBenchmark
}

// A goBenchmark is a function that go test runs with -bench.
type goBenchmark struct {
	name string // BenchmarkX
	record.Source
}

// A goCase is a benchmark that prints a result: a function, or one that it gives to b.Run.
type goCase struct {
	pkg      *goPackage
	full     string // as go test names it, without the number of processors
	declared record.Case
	failed   *goEnd     // what became of it in the listing, where that was no success
	batches  *goBatches // nil until it was measured for the first time
}

// A GoSource says which Go packages to benchmark.
type GoSource struct {
	Runtime  record.Runtime // from [Find]
	Packages string         // a folder, a folder and /..., or an import path
	Dir      string         // what a relative folder is relative to; "" is our working folder
	Timeout  time.Duration  // of a benchmark's first call; 0 is no bound
	Tell     func(string)   // is told what is being done
	Keep     bool           // the test binaries
}

// OpenGo builds the test binaries and calls each benchmark once to learn which cases
// there are. The caller must Remove what it returns. An error is that of the go command,
// in its own words, or says that there is no benchmark; a benchmark that fails is a case
// and no error.
func OpenGo(ctx context.Context, source GoSource) (tests *GoTests, err error) {
	folder, err := newFolder()
	if err != nil {
		return nil, fmt.Errorf("no folder for temporary files: %w", err)
	}
	t := &GoTests{folder: folder, procs: goruntime.GOMAXPROCS(0)}
	defer func() {
		if err != nil {
			t.Remove()
		}
	}()
	packages, err := t.build(ctx, source)
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		for _, b := range p.benchmarks {
			source.Tell("listing " + b.name)
			if err := t.discover(ctx, p, b, source.Timeout); err != nil {
				return nil, err
			}
		}
	}
	t.nameCases(packages)
	return t, nil
}

// Remove takes the test binaries away.
func (t *GoTests) Remove() error { return os.RemoveAll(t.folder) }

// startGo is Start for the runtime go.
func (p *Process) startGo(ctx context.Context) error {
	t, job := p.spec.Go, p.spec.Job
	switch {
	case t == nil || job.Mode == ModeRun:
		return fmt.Errorf("the runtime go runs benchmarks of packages alone")
	case job.Slowdown > 0:
		return fmt.Errorf("a Go benchmark cannot be slowed down: a gate is proved on Lua code")
	case job.Mode == ModeMeasure && (job.Index >= len(t.cases) || t.cases[job.Index].declared.Name != job.Name):
		return fmt.Errorf("no benchmark %q", job.Name)
	}
	go func() {
		end := record.Exit{Process: job.Process}
		if job.Mode == ModeList {
			for _, c := range t.cases {
				p.lines <- c.declared
			}
		} else {
			end = p.measureGo(ctx, t.cases[job.Index])
		}
		p.removeFolder()
		p.lines <- end
		close(p.lines)
	}()
	return nil
}

// runTest runs a package's test binary on one benchmark.
func (t *GoTests) runTest(ctx context.Context, r goRun) (*goEnd, error) {
	said := &goOutput{run: r, procs: t.procs}
	stack := &goStack{}
	args := append([]string{
		"-test.run=^$", "-test.bench=" + benchPattern(r.name), "-test.benchmem", "-test.v",
		"-test.paniconexit0", fmt.Sprintf("-test.cpu=%d", t.procs),
	}, r.flags()...)
	out, errs := &lineWriter{line: said.hear}, &lineWriter{line: stack.hear}
	ran, err := Run(ctx, Command{
		Path: r.pkg.binary, Args: append([]string{filepath.Base(r.pkg.binary)}, args...), Dir: r.pkg.dir,
		Env: append([]string{"PWD=" + r.pkg.dir}, r.env...), Timeout: r.timeout, OutTo: out, ErrTo: errs,
	})
	if err != nil {
		return nil, err
	}
	out.end()
	errs.end()
	return &goEnd{goRun: r, Ran: ran, said: said, stack: stack}, nil
}

// A goRun is one run of a test binary.
type goRun struct {
	pkg      *goPackage
	name     string // of the benchmark: BenchmarkX/size=10
	calls    int    // of each batch; 0: see duration
	duration time.Duration
	count    int // batches
	env      []string
	timeout  time.Duration
}

func (r goRun) flags() []string {
	length := fmt.Sprintf("%dx", r.calls)
	if r.calls == 0 {
		length = r.duration.String()
	}
	return []string{"-test.benchtime=" + length, fmt.Sprintf("-test.count=%d", r.count)}
}

// A goEnd is what became of a run.
type goEnd struct {
	goRun
	Ran
	said  *goOutput
	stack *goStack
}
