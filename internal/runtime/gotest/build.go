package gotest

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// build finds the packages that declare benchmarks and builds their test binaries.
func (t *Tests) build(ctx context.Context, s Source) ([]*testPackage, error) {
	place, err := s.place()
	if err != nil {
		return nil, err
	}
	source := s.Packages
	s.Tell("looking for benchmarks in " + source)
	list, err := t.goCommand(ctx, s, place, "list", "-test=false", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", place.pattern)
	if err != nil && place.pattern == "." && strings.Contains(err.Error(), "no Go files in") {
		return nil, fmt.Errorf("%s: %w; %s/... are the packages below it", source, err, strings.TrimSuffix(source, "/"))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var packages []*testPackage
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var l struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: go list: %w", source, err)
		}
		p := &testPackage{path: l.ImportPath, dir: l.Dir, shown: place.shown(l.Dir)}
		for _, file := range append(l.TestGoFiles, l.XTestGoFiles...) {
			p.declare(file)
		}
		if len(p.benchmarks) > 0 {
			packages = append(packages, p)
		}
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("%s declares no benchmark; one is func BenchmarkName(b *testing.B) in a file that ends in _test.go", source)
	}
	for i, p := range packages {
		s.Tell("building " + p.path)
		p.binary = filepath.Join(t.folder, fmt.Sprintf("%d.test", i))
		if _, err := t.goCommand(ctx, s, place, "test", "-c", "-o", p.binary, p.path); err != nil {
			return nil, fmt.Errorf("%s does not build: %w", p.path, err)
		}
		if p.vm, err = t.vmOf(p.binary); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

// A goPlace is where the go command runs: in the packages' own folder, because that
// folder's module decides how they are built, whichever module we stand in.
type goPlace struct {
	dir     string // without symbolic links, which the go command would not look behind
	pattern string // of packages, from there
	written string // the folder as the user wrote it; "" with import paths
}

func (s Source) place() (goPlace, error) {
	folder, all := strings.CutSuffix(s.Packages, "...")
	path := folder
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	place := goPlace{pattern: ".", written: folder}
	if all {
		place.pattern = "./..."
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		path, place = s.Dir, goPlace{pattern: s.Packages} // an import path
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return place, err
	}
	place.dir, err = filepath.EvalSymlinks(path)
	return place, err
}

// shown is a folder as the user would write it, or as it is when it lies elsewhere.
func (p goPlace) shown(dir string) string {
	rel, err := filepath.Rel(p.dir, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return dir
	}
	return filepath.Join(p.written, rel)
}

// goCommand runs the go command and returns what it prints; an error is in its words.
func (t *Tests) goCommand(ctx context.Context, s Source, place goPlace, args ...string) ([]byte, error) {
	var out, complaints bytes.Buffer
	cmd := runtime.Command{
		Path: s.Runtime.Path, Args: append([]string{"go"}, args...), Dir: place.dir,
		// What it leaves behind when it is killed goes with us.
		Env:   []string{"PWD=" + place.dir, "GOTMPDIR=" + t.folder},
		OutTo: &out, ErrTo: &complaints,
	}
	ran, err := runtime.Run(ctx, cmd)
	switch {
	case err != nil:
		return nil, err
	case ran.Status == 0:
		return out.Bytes(), nil
	}
	text := strings.TrimSpace(complaints.String() + out.String())
	text = cmp.Or(place.fromHere(text), fmt.Sprintf("go %s ended with status %d", args[0], ran.Status))
	const most = 4000
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return nil, errors.New(text)
}

var goPosition = regexp.MustCompile(`(?m)^([ \t]*)([^\s/:][^\s:]*\.go:\d+)`)

// fromHere makes positions that the go command names from the folder it ran in lead there
// from where the user is.
func (p goPlace) fromHere(text string) string {
	return goPosition.ReplaceAllStringFunc(text, func(found string) string {
		position := strings.TrimLeft(found, " \t")
		return found[:len(found)-len(position)] + filepath.Join(p.written, position)
	})
}

// declare collects the benchmarks of a file, as go test does. A file that does not parse
// has none; building it says why.
func (p *testPackage) declare(file string) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, filepath.Join(p.dir, file), nil, parser.SkipObjectResolution)
	if tree == nil || err != nil {
		p.benchmarks = append(p.benchmarks, benchFunc{}) // so that it is built
		return
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Type.TypeParams != nil || !isBenchmark(f.Name.Name) || len(f.Type.Params.List) != 1 {
			continue
		}
		pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		if of, ok := pointer.X.(*ast.SelectorExpr); !ok || of.Sel.Name != "B" {
			continue
		}
		p.benchmarks = append(p.benchmarks, benchFunc{name: f.Name.Name, Source: record.Source{
			File: filepath.Join(p.shown, file), Line: set.Position(f.Pos()).Line,
		}})
	}
}

// isBenchmark reports whether go test takes a function of this name for a benchmark.
func isBenchmark(name string) bool {
	rest, ok := strings.CutPrefix(name, "Benchmark")
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(first))
}

// vmOf describes what runs a test binary, from what the linker wrote into it.
func (t *Tests) vmOf(binary string) (record.VM, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return record.VM{}, fmt.Errorf("%s: %w", binary, err)
	}
	vm := record.VM{Version: info.GoVersion, Opt: []string{}, GOMAXPROCS: t.procs}
	goos := ""
	var flags []string
	for _, s := range info.Settings {
		switch {
		case s.Key == "GOOS":
			goos = s.Value
		case s.Key == "GOARCH":
			vm.Arch = s.Value
		case s.Key == "-buildmode", s.Key == "-compiler":
		case strings.HasPrefix(s.Key, "-"), s.Key == "GOEXPERIMENT":
			flags = append(flags, s.Key+"="+s.Value)
		}
	}
	vm.Arch, vm.Build = goos+"/"+vm.Arch, strings.Join(flags, " ")
	return vm, nil
}
