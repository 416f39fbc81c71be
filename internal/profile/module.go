package profile

import (
	"path"
	"strings"
)

// Module names what a stack's time belongs to: the plugin of Kong or APISIX that runs, the innermost
// where there are several, else the module of the innermost Lua function, as require has it. It is ""
// without Lua. Frames begin with the outermost.
func Module(frames []Frame) string {
	module := ""
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Kind != Lua {
			continue
		}
		if name := plugin(f.File); name != "" {
			return name
		}
		if module == "" {
			module = moduleOf(f.File)
		}
	}
	return module
}

// plugin is the plugin that a file belongs to, by the folders in which both gateways keep them:
// kong/plugins/NAME/…, apisix/plugins/NAME.lua and apisix/plugins/NAME/….
func plugin(file string) string {
	for _, gateway := range []string{"kong", "apisix"} {
		folder := gateway + "/plugins/"
		i := strings.LastIndex(file, folder)
		if i < 0 || i > 0 && file[i-1] != '/' {
			continue
		}
		name, _, inside := strings.Cut(file[i+len(folder):], "/")
		if !inside {
			name = strings.TrimSuffix(name, ".lua")
		}
		if name != "" {
			return gateway + " plugin " + name
		}
	}
	return ""
}

// roots are folders that package.path usually leads to, so that what lies behind them is a module's name.
var roots = []string{"/lualib/", "/share/lua/5.1/", "/share/luajit-2.1/", "/share/lua/"}

// moduleOf is a file as require would name it, as far as its path tells: "resty.core.regex". Where it
// does not, it is the file's name; what stands in nginx.conf stays as it is.
func moduleOf(file string) string {
	name, isFile := strings.CutSuffix(file, ".lua")
	if !isFile {
		return file
	}
	for _, root := range roots {
		if i := strings.LastIndex(name, root); i >= 0 {
			return strings.TrimSuffix(strings.ReplaceAll(name[i+len(root):], "/", "."), ".init")
		}
	}
	return path.Base(name)
}
