package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// gitTimeout bounds what git may take: a benchmark does not wait for it.
var gitTimeout = time.Second

// gitState is the commit that folder is at, and whether a file under version control
// differs from it.
func gitState(folder string) (commit string, dirty bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", folder, "--no-optional-locks"}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		cmd.WaitDelay = gitTimeout
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		switch {
		case errors.Is(err, exec.ErrNotFound):
			return "", errors.New("git is not installed")
		case ctx.Err() != nil:
			return "", fmt.Errorf("git took longer than %s", gitTimeout)
		case err != nil && stderr.Len() > 0:
			return "", errors.New(strings.TrimPrefix(firstLine(stderr.String()), "fatal: "))
		}
		return strings.TrimSpace(string(out)), err
	}
	commit, err = git("rev-parse", "--verify", "HEAD")
	if err != nil {
		return "", false, err
	}
	changes, err := git("status", "--porcelain", "--untracked-files=no")
	return commit, changes != "", err
}
