// Package gotest benchmarks Go packages: it builds their test binaries once, and each process runs one
// benchmark of one of them.
package gotest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// Tests are a [runtime.Program]: the benchmarks of Go packages: their test binaries, built once for all
// processes of a run, and the cases found in them.
type Tests struct {
	folder string
	procs  int // GOMAXPROCS of every process
	cases  []*benchCase

	mu sync.Mutex // of what the cases learn while they are measured
}

// A testPackage is a package that declares benchmarks.
type testPackage struct {
	path       string // import path
	dir        string // its folder, in which go test runs, too
	shown      string // its folder as the user would write it
	binary     string
	vm         record.VM
	benchmarks []benchFunc
}

// A benchFunc is a function that go test runs with -bench.
type benchFunc struct {
	name string // BenchmarkX
	record.Source
}

// A benchCase is a benchmark that prints a result: a function, or one that it gives to b.Run.
type benchCase struct {
	pkg      *testPackage
	full     string // as go test names it, without the number of processors
	declared record.Case
	failed   *testEnd   // what became of it in the listing, where that was no success
	batches  *batchPlan // nil until it was measured for the first time
}

// A Source says which Go packages to benchmark.
type Source struct {
	Runtime  record.Runtime // from [runtime.Find]
	Packages string         // a folder, a folder and /..., or an import path
	Dir      string         // what a relative folder is relative to; "" is our working folder
	Timeout  time.Duration  // of a benchmark's first call; 0 is no bound
	Tell     func(string)   // is told what is being done
	Keep     bool           // the test binaries
}

// Open builds the test binaries and calls each benchmark once to learn which cases
// there are. The caller must Remove what it returns. An error is that of the go command,
// in its own words, or says that there is no benchmark; a benchmark that fails is a case
// and no error.
func Open(ctx context.Context, source Source) (tests *Tests, err error) {
	folder, err := runtime.NewFolder()
	if err != nil {
		return nil, fmt.Errorf("no folder for temporary files: %w", err)
	}
	t := &Tests{folder: folder, procs: goruntime.GOMAXPROCS(0)}
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
func (t *Tests) Remove() error { return os.RemoveAll(t.folder) }

// Twin says that nothing is taken off a benchmark.
func (t *Tests) Twin(int) (int, bool) { return 0, false }

// Cases are the benchmarks as they were declared.
func (t *Tests) Cases() (cases []record.Case) {
	for _, c := range t.cases {
		cases = append(cases, c.declared)
	}
	return cases
}

// Refuse says what a Go benchmark cannot do.
func (t *Tests) Refuse(job runtime.Job) error {
	switch {
	case job.Mode == runtime.ModeMeasure && (job.Index >= len(t.cases) || t.cases[job.Index].declared.Name != job.Name):
		return fmt.Errorf("no benchmark %q", job.Name)
	case job.Slowdown > 0:
		return errors.New("a Go benchmark cannot be slowed down: a gate is proved on Lua code")
	}
	return nil
}

// runTest runs a package's test binary on one benchmark.
func (t *Tests) runTest(ctx context.Context, r testRun) (*testEnd, error) {
	said := &testOutput{run: r, procs: t.procs}
	stack := &goStack{}
	args := append([]string{
		"-test.run=^$", "-test.bench=" + benchPattern(r.name), "-test.benchmem", "-test.v",
		"-test.paniconexit0", fmt.Sprintf("-test.cpu=%d", t.procs),
	}, r.flags()...)
	out, errs := &lineWriter{line: said.hear}, &lineWriter{line: stack.hear}
	ran, err := runtime.Run(ctx, runtime.Command{
		Path: r.pkg.binary, Args: append([]string{filepath.Base(r.pkg.binary)}, args...), Dir: r.pkg.dir,
		Env: append([]string{"PWD=" + r.pkg.dir}, r.env...), Timeout: r.timeout, OutTo: out, ErrTo: errs,
	})
	if err != nil {
		return nil, err
	}
	out.end()
	errs.end()
	return &testEnd{testRun: r, Ran: ran, said: said, stack: stack}, nil
}

// A testRun is one run of a test binary.
type testRun struct {
	pkg      *testPackage
	name     string // of the benchmark: BenchmarkX/size=10
	calls    int    // of each batch; 0: see duration
	duration time.Duration
	count    int // batches
	env      []string
	timeout  time.Duration
}

func (r testRun) flags() []string {
	length := fmt.Sprintf("%dx", r.calls)
	if r.calls == 0 {
		length = r.duration.String()
	}
	return []string{"-test.benchtime=" + length, fmt.Sprintf("-test.count=%d", r.count)}
}

// A testEnd is what became of a run.
type testEnd struct {
	testRun
	runtime.Ran
	said  *testOutput
	stack *goStack
}
