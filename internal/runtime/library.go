package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/lua"
)

// library returns the folder that holds the Lua library's folder moonlap:
// $MOONLAP_LUA_DIR when set; else the embedded library in the user's cache; else,
// where that cannot be written, in the folder private.
func library(private string) (string, error) {
	if dir := os.Getenv("MOONLAP_LUA_DIR"); dir != "" {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("MOONLAP_LUA_DIR: %w", err)
		}
		if _, err := os.Stat(filepath.Join(absolute, "moonlap")); err != nil {
			return "", fmt.Errorf("MOONLAP_LUA_DIR holds no Lua library: %w", err)
		}
		return absolute, nil
	}
	if cache, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(cache, "moonlap", "lua-"+digest())
		if unpack(lua.Library, dir) == nil {
			return dir, nil
		}
	}
	dir := filepath.Join(private, "lua")
	return dir, unpack(lua.Library, dir)
}

// digest names the library's content, so that two versions never share a folder.
var digest = sync.OnceValue(func() string {
	sum := sha256.New()
	fs.WalkDir(lua.Library, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := lua.Library.ReadFile(path)
			fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))
})

// unpack makes dir hold the files of tree. It is done in a folder beside it and
// moved into place, so that nobody ever sees half a library. One process does it at a time: a second one
// would take what the first has just put there for spoilt, and remove it from under the first one's children.
func unpack(tree fs.FS, dir string) error {
	if holds(dir, tree) {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	lock, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer lock.Close()
	unix.Flock(int(lock.Fd()), unix.LOCK_EX) // some network file systems have no locks, and one process alone needs none
	if holds(dir, tree) {
		return nil
	}
	fresh, err := os.MkdirTemp(parent, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.CopyFS(fresh, tree); err != nil {
		return err
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err == nil { // it is there, but spoilt
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return os.Rename(fresh, dir)
}

// holds reports whether dir has every file of tree with the same content.
func holds(dir string, tree fs.FS) bool {
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		if !bytes.Equal(have, want) {
			return fs.ErrInvalid
		}
		return nil
	})
	return err == nil
}
