package runtime

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/moonlap/moonlap/internal/record"
)

const goAdvice = "install Go from https://go.dev/dl, or name the program with --go"

// goFolders are where Go usually lives, besides $PATH.
var goFolders = []string{"/usr/local/go/bin", "/usr/lib/go/bin", "/snap/bin", "/opt/homebrew/bin"}

func findGo(ctx context.Context, opts Options) (record.Runtime, error) {
	files, err := candidates(opts.Go, opts.Path, []string{"go"}, goFolders)
	if err != nil {
		return record.Runtime{}, fmt.Errorf("--go: %w", err)
	}
	var last error
	for _, file := range files {
		version, err := askGo(ctx, file)
		if err == nil {
			return record.Runtime{Kind: Go, Path: file, Version: version}, nil
		}
		last = err
	}
	if last != nil {
		return record.Runtime{}, fmt.Errorf("%w; %s", last, goAdvice)
	}
	return record.Runtime{}, errors.New("no Go on this machine; " + goAdvice)
}

var goVersion = regexp.MustCompile(`(?m)^go version (\S+)`)

// askGo is the version that the go command says of itself: "go1.26.0".
func askGo(ctx context.Context, file string) (string, error) {
	out, err := ask(ctx, file, "version")
	if err != nil {
		return "", fmt.Errorf("%s version failed: %w", file, err)
	}
	if version := argument(goVersion, out); version != "" {
		return version, nil
	}
	return "", fmt.Errorf("%s is not the go command: it says %q", file, firstLine(out))
}
