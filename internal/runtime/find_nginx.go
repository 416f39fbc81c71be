package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

const nginxAdvice = "install nginx and libnginx-mod-http-lua (Debian, Ubuntu) or OpenResty, " +
	"or name the program with --nginx"

func findNginx(ctx context.Context, opts Options) (record.Runtime, error) {
	files, err := candidates(opts.Nginx, opts.Path, []string{"openresty", "nginx"}, []string{
		"/usr/sbin", "/usr/local/sbin", "/usr/local/openresty/nginx/sbin",
		"/opt/openresty/nginx/sbin", "/usr/local/nginx/sbin",
	})
	if err != nil {
		return record.Runtime{}, fmt.Errorf("--nginx: %w", err)
	}
	var first error
	for _, file := range files {
		runtime, err := askNginx(ctx, file)
		if err == nil {
			return runtime, nil
		}
		if first == nil {
			first = err
		}
	}
	if first != nil {
		return record.Runtime{}, fmt.Errorf("%w; %s", first, nginxAdvice)
	}
	return record.Runtime{}, errors.New("no nginx on this machine; " + nginxAdvice)
}

func askNginx(ctx context.Context, file string) (record.Runtime, error) {
	out, err := ask(ctx, file, "-V")
	if err != nil {
		return record.Runtime{}, fmt.Errorf("%s -V failed: %w", file, err)
	}
	build, err := parseNginxV(out)
	if err != nil {
		return record.Runtime{}, fmt.Errorf("%s: %w", file, err)
	}
	runtime := record.Runtime{Kind: Nginx, Path: file, Version: build.version, OpenResty: build.openresty, Without: build.without}
	if build.builtin {
		return runtime, nil
	}
	folders := build.moduleFolders()
	for _, folder := range folders {
		module := filepath.Join(folder, luaModule)
		if _, err := os.Stat(module); err == nil {
			runtime.LuaModule = module
			return runtime, nil
		}
	}
	return record.Runtime{}, fmt.Errorf("%s has no Lua module: it is not compiled in, and there is no %s in %s",
		file, luaModule, strings.Join(folders, " or "))
}

// The dynamic modules of a plain nginx; the second needs the first.
const (
	ndkModule = "ndk_http_module.so"
	luaModule = "ngx_http_lua_module.so"
)

// An nginxBuild is what `nginx -V` says of a program.
type nginxBuild struct {
	version     string // "nginx/1.22.1", "openresty/1.25.3.1"
	openresty   string // "1.25.3.1"
	prefix      string
	modulesPath string
	builtin     bool     // the Lua module is compiled in
	without     []string // HTTP modules that --without-http_…_module left out
}

var (
	versionLine = regexp.MustCompile(`(?m)^nginx version: ((\S+?)/(\S+))`)
	prefixArg   = regexp.MustCompile(`--prefix=(\S+)`)
	modulesArg  = regexp.MustCompile(`--modules-path=(\S+)`)
	// Sources of the Lua module: ngx_lua-0.10.26 in OpenResty's bundle, or a checkout.
	builtinArg = regexp.MustCompile(`--add-module=\S*(ngx_lua|lua-nginx-module)`)
	withoutArg = regexp.MustCompile(`--without-http_(\S+)_module`)
)

// parseNginxV reads the output of `nginx -V`.
func parseNginxV(out string) (nginxBuild, error) {
	m := versionLine.FindStringSubmatch(out)
	if m == nil {
		return nginxBuild{}, fmt.Errorf("not nginx: -V says %q", firstLine(out))
	}
	build := nginxBuild{
		version:     m[1],
		prefix:      argument(prefixArg, out),
		modulesPath: argument(modulesArg, out),
		builtin:     builtinArg.MatchString(out),
	}
	for _, module := range withoutArg.FindAllStringSubmatch(out, -1) {
		build.without = append(build.without, module[1])
	}
	if m[2] == "openresty" {
		build.openresty = m[3]
		// OpenResty leaves Lua out only when told so.
		build.builtin = !strings.Contains(out, "--without-http_lua_module")
	}
	return build, nil
}

func argument(re *regexp.Regexp, out string) string {
	if m := re.FindStringSubmatch(out); m != nil {
		return strings.Trim(m[1], `'"`)
	}
	return ""
}

// moduleFolders are the folders where this nginx's dynamic modules may be: the one it
// was built for, else the usual ones. Modules of another build would not load.
func (b nginxBuild) moduleFolders() []string {
	switch {
	case filepath.IsAbs(b.modulesPath):
		return []string{b.modulesPath}
	case b.modulesPath != "":
		return []string{filepath.Join(b.prefix, b.modulesPath)}
	}
	return []string{filepath.Join(b.prefix, "modules"), "/usr/lib/nginx/modules"}
}
