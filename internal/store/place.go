package store

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// At is the store at a place that --history names: the file of an index, with the records beside it; a folder that several share, if
// it is there or ends in /; a branch of a git repository, git:URL#BRANCH; or S3-compatible storage, s3://BUCKET/PREFIX. The index of a
// shared place, and what is fetched of it, is in the cache, so that no lock has to work on another machine.
func At(place string, getenv func(string) string) (*Store, error) {
	remote, isGit := strings.CutPrefix(place, "git:")
	isS3 := strings.HasPrefix(place, "s3:")
	info, err := os.Stat(place)
	isFolder := !isGit && !isS3 && (err == nil && info.IsDir() || strings.HasSuffix(place, "/"))
	if !isGit && !isS3 && !isFolder {
		return &Store{Path: place, Place: place}, nil
	}
	if isFolder {
		if place, err = filepath.Abs(place); err != nil {
			return nil, err
		}
	}
	cache, err := cacheFolder(getenv)
	if err != nil {
		return nil, err
	}
	cache = filepath.Join(cache, "moonlap", "history")
	if isS3 {
		return inBucket(place, cache, getenv)
	}
	cache = filepath.Join(cache, hash([]byte(place)))
	s := &Store{Path: filepath.Join(cache, "history.db"), Place: place, Records: filepath.Join(place, "records")}
	if isGit {
		url, branch, _ := strings.Cut(remote, "#")
		if url == "" {
			return nil, errors.New("git:URL#BRANCH: which URL?")
		}
		g := &gitBranch{url: url, branch: cmp.Or(branch, "moonlap"), folder: filepath.Join(cache, "git")}
		s.Remote, s.Records = g, filepath.Join(g.folder, "records")
	}
	return s, nil
}

// inBucket is the store of S3-compatible storage. A bucket of that name on another server is another place.
func inBucket(place, cache string, getenv func(string) string) (*Store, error) {
	b, err := newBucket(place, getenv)
	if err != nil {
		return nil, err
	}
	cache = filepath.Join(cache, hash([]byte(b.endpoint.String()+"/"+b.name+"/"+b.prefix)))
	b.folder = filepath.Join(cache, "records")
	s := &Store{Path: filepath.Join(cache, "history.db"), Place: place, Records: b.folder, Remote: b}
	b.note = s.note
	return s, nil
}

func cacheFolder(getenv func(string) string) (string, error) {
	if cache := getenv("XDG_CACHE_HOME"); filepath.IsAbs(cache) {
		return cache, nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache"), nil
	}
	return "", errors.New("no place for the index of a shared history: neither XDG_CACHE_HOME nor HOME is set")
}
