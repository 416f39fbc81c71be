package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// Kinds of runtimes.
const (
	Auto   = "auto" // nginx where there is one with Lua, else LuaJIT
	LuaJIT = "luajit"
	Nginx  = "nginx"
	Go     = "go"
)

// Options say where to look for runtimes.
type Options struct {
	LuaJIT string // path of the program; "" to search
	Nginx  string // path of the program; "" to search
	Go     string // path of the go command; "" to search
	Path   string // list of folders to search, as in $PATH
}

// askTimeout bounds how long a program may take to say its version.
const askTimeout = 10 * time.Second

// Find looks for a runtime of the kind and asks it what it is. The error says what
// to install when there is none.
func Find(ctx context.Context, kind string, opts Options) (record.Runtime, error) {
	switch kind {
	case LuaJIT:
		return findLuaJIT(ctx, opts)
	case Nginx:
		return findNginx(ctx, opts)
	case Go:
		return findGo(ctx, opts)
	case Auto, "":
		nginx, err := findNginx(ctx, opts)
		if err == nil || opts.Nginx != "" {
			return nginx, err
		}
		luajit, errLuaJIT := findLuaJIT(ctx, opts)
		if errLuaJIT == nil {
			return luajit, nil
		}
		return record.Runtime{}, errors.Join(err, errLuaJIT)
	}
	return record.Runtime{}, fmt.Errorf("unknown runtime %q: auto, luajit, nginx or go", kind)
}

// candidates are the programs to try: the chosen one alone, or each name in each
// folder of the path, then in the folders where the program usually lives. Users'
// paths often lack /usr/sbin.
func candidates(chosen, path string, names, folders []string) ([]string, error) {
	if chosen != "" {
		if !strings.Contains(chosen, "/") {
			for _, folder := range filepath.SplitList(path) {
				if file := filepath.Join(folder, chosen); executable(file) {
					return []string{file}, nil
				}
			}
		}
		info, err := os.Stat(chosen)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir() || info.Mode()&0o111 == 0:
			return nil, fmt.Errorf("%s is not a program", chosen)
		}
		absolute, err := filepath.Abs(chosen)
		return []string{absolute}, err
	}
	var found []string
	seen := map[string]bool{}
	for _, folder := range append(filepath.SplitList(path), folders...) {
		for _, name := range names {
			file := filepath.Join(folder, name)
			if filepath.IsAbs(file) && !seen[file] && executable(file) {
				seen[file] = true
				found = append(found, file)
			}
		}
	}
	return found, nil
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

const luajitAdvice = "install luajit2 or luajit (Debian, Ubuntu), or name the program with --luajit"

func findLuaJIT(ctx context.Context, opts Options) (record.Runtime, error) {
	files, err := candidates(opts.LuaJIT, opts.Path, []string{"luajit", "luajit2"}, []string{
		"/usr/local/bin", "/usr/bin", "/usr/local/openresty/luajit/bin", "/opt/openresty/luajit/bin",
	})
	if err != nil {
		return record.Runtime{}, fmt.Errorf("--luajit: %w", err)
	}
	var last error
	for _, file := range files {
		version, err := askLuaJIT(ctx, file)
		if err == nil {
			return record.Runtime{Kind: LuaJIT, Path: file, Version: version}, nil
		}
		last = err
	}
	if last != nil {
		return record.Runtime{}, fmt.Errorf("%w; %s", last, luajitAdvice)
	}
	return record.Runtime{}, errors.New("no LuaJIT on this machine; " + luajitAdvice)
}

// askLuaJIT runs the program: a name proves nothing.
func askLuaJIT(ctx context.Context, file string) (version string, err error) {
	out, err := ask(ctx, file, "-e", `io.stdout:write(jit and jit.version or _VERSION or "")`)
	if err != nil {
		return "", fmt.Errorf("%s does not run Lua: %w", file, err)
	}
	if !strings.HasPrefix(out, "LuaJIT") {
		return "", fmt.Errorf("%s is not LuaJIT: it says %q", file, firstLine(out))
	}
	return out, nil
}

// ask runs a program that has something to say, and returns stdout and stderr.
func ask(ctx context.Context, file string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) > 0 {
		err = fmt.Errorf("%w: %s", err, firstLine(string(out)))
	}
	return string(out), err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
