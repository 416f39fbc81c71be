package lint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostSource is the largest file that is read, in bytes. The tree of one takes about 50 times as much memory.
const mostSource = 4 << 20

// skipped are folders of programs that belong to others.
var skipped = []string{"node_modules", "lua_modules", "luarocks"}

// find lists the files of paths: Lua and nginx.conf in folders, each file that is named itself. What cannot be read is a fault.
func find(paths []string, excluded func(string) bool) (found []string, faults []Fault) {
	seen := map[string]bool{}
	add := func(path string) {
		if clean := filepath.Clean(path); !seen[clean] && !excluded(clean) {
			seen[clean] = true
			found = append(found, clean)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			faults = append(faults, unreadable(path, err))
			continue
		}
		if !info.IsDir() {
			add(path)
			continue
		}
		// A link that is named is followed; one in a folder is not, if it leads to a folder.
		root := filepath.Clean(path) + string(filepath.Separator)
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				faults = append(faults, unreadable(path, err))
			case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skipped, d.Name())):
				return filepath.SkipDir
			case !d.IsDir() && isSource(d.Name()):
				if info, err := os.Stat(path); err != nil {
					faults = append(faults, unreadable(path, err))
				} else if info.Mode().IsRegular() {
					add(path)
				}
			}
			return nil
		})
	}
	return found, faults
}

func isSource(name string) bool {
	return strings.HasSuffix(name, ".lua") && name != SettingsFile || isConf(name)
}

// isConf tells nginx.conf, by its name in a folder: other *.conf are of anything.
func isConf(name string) bool { return name == "nginx.conf" || strings.HasSuffix(name, ".nginx.conf") }

func unreadable(path string, err error) Fault {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return Fault{File: path, Message: err.Error()}
}
