package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/runtime/gotest"
)

// isGo reports whether a bench argument names Go packages, in the working folder dir: with
// --runtime go every one does, with auto a folder, a pattern with "...", and what is no
// file and looks like an import path. It then makes the runtime go.
func (o *benchOptions) isGo(dir, arg string) (bool, error) {
	path := arg
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	lua := strings.HasSuffix(arg, ".lua")
	switch {
	case err == nil && !info.IsDir() && (o.runtime == runtime.Go || strings.HasSuffix(arg, "_test.go")):
		return false, usageErrorf("%s is a file: name the package's folder, as in 'moonlap bench %s'", arg, goFolder(arg))
	case o.runtime == runtime.Go:
		return true, nil
	case o.runtime != "auto":
		return false, nil
	case err == nil && !info.IsDir(), err != nil && lua:
		return false, nil
	case err != nil && !strings.HasSuffix(arg, "...") && (strings.HasPrefix(arg, ".") || !strings.Contains(arg, "/") || filepath.IsAbs(arg)):
		return false, nil // a bench file that does not exist
	}
	o.runtime = runtime.Go
	return true, nil
}

// goFolder is the folder of a file as the go command wants it.
func goFolder(file string) string {
	dir := filepath.Dir(file)
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, ".") {
		return dir
	}
	return "./" + dir
}

// inCheckout splits packages into a folder, which a checkout has elsewhere, and the rest:
// "/..." or an import path.
func inCheckout(packages string) (folder, rest string) {
	folder, all := strings.CutSuffix(packages, "...")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", packages
	}
	if all {
		rest = "/..."
	}
	return folder, rest
}

// completeGo checks the flags of a Go benchmark.
func (o *benchOptions) completeGo(flags *pflag.FlagSet) error {
	if o.File == "" {
		return usageErrorf("--runtime go needs a package: a folder, ./..., or an import path")
	}
	if name := changed(flags, func(r flagRule) bool { return r.in != anyCode }); name != "" {
		return usageErrorf("--%s is for Lua code, and %s is a Go package", name, o.File)
	}
	o.MemoryBytes = 0
	return nil
}

// gitPlace is a file in the folder whose git commit the record names; it need not exist.
func gitPlace(o bench.Options) string {
	if o.Program == nil {
		return o.File
	}
	folder := strings.TrimSuffix(o.File, "...")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "" // an import path
	}
	return filepath.Join(folder, "go.mod")
}

// pastName is what the history knows a bench file by, or Go packages: the same for "." as
// for the folder's name.
func pastName(file string, isGo bool) string {
	folder, all := strings.CutSuffix(file, "...")
	path, err := filepath.Abs(folder)
	if !isGo || err != nil {
		return file
	}
	if all {
		return filepath.Base(path) + "..."
	}
	return filepath.Base(path)
}

// openRuntime finds the runtime; for Go it builds what is to be measured, too. The caller
// must call remove, also after an error.
func (o *benchOptions) openRuntime(ctx context.Context, sys Sys) (remove func(), err error) {
	remove = func() {}
	o.Runtime, err = runtime.Find(ctx, o.runtime, runtime.Options{
		LuaJIT: o.luajit, Nginx: o.nginx, Go: o.gocmd, Path: sys.Getenv("PATH"),
	})
	if err != nil || o.Runtime.Kind != runtime.Go {
		return remove, err
	}
	tell, stop := ticking(newProgress(sys))
	tests, err := gotest.Open(ctx, gotest.Source{
		Runtime: o.Runtime, Packages: o.File, Dir: o.Dir, Timeout: o.Timeout, Tell: tell,
	})
	stop()
	if err != nil {
		return remove, err
	}
	o.Program = tests
	if o.Keep {
		return remove, nil
	}
	return func() { tests.Remove() }, nil
}

// ticking keeps a progress line alive while something works on that can only say what it
// does. stop ends that and clears the line.
func ticking(line *progress) (tell func(string), stop func()) {
	var what atomic.Value
	started := time.Now()
	tell = func(text string) { what.Store(text) }
	tell("")
	return tell, line.keepDrawing(func() { line.Update(what.Load().(string), time.Since(started), 0) })
}
