package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A gitBranch is a branch that has the records in its folder records/. The copy is a clone of that branch alone.
type gitBranch struct {
	url, branch string
	folder      string
}

// git runs git in the clone, and returns what it prints.
func (g *gitBranch) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", g.folder, "-c", "gc.auto=0", "-c", "core.autocrlf=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		text := strings.TrimSpace(said.String())
		lines := strings.Split(text, "\n")
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, lines[len(lines)-1])
	}
	return strings.TrimSpace(string(out)), nil
}

// there is the remote branch in the clone.
func (g *gitBranch) there() string { return "refs/remotes/origin/" + g.branch }

// Fetch makes the clone what the branch is; one that is not there yet is empty.
func (g *gitBranch) Fetch(ctx context.Context) error {
	if err := os.MkdirAll(g.folder, 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(g.folder, ".git")); err != nil {
		if _, err := g.git(ctx, "init", "--quiet"); err != nil {
			return err
		}
	}
	found, err := g.git(ctx, "ls-remote", "--", g.url, "refs/heads/"+g.branch)
	if err != nil {
		return err
	}
	if found == "" { // Send makes it
		_, _ = g.git(ctx, "update-ref", "-d", g.there())
		_, err = g.git(ctx, "read-tree", "--empty")
		return errors.Join(err, os.RemoveAll(filepath.Join(g.folder, "records")))
	}
	if _, err := g.git(ctx, "fetch", "--quiet", "--no-tags", "--", g.url, "+refs/heads/"+g.branch+":"+g.there()); err != nil {
		return err
	}
	if _, err := g.git(ctx, "checkout", "--quiet", "--force", "--detach", g.there()); err != nil {
		return err
	}
	_, err = g.git(ctx, "clean", "--quiet", "-d", "--force", "--", "records")
	return err
}

// Send commits on top of the branch and pushes. Where another one was quicker, it does so again on top of that.
func (g *gitBranch) Send(ctx context.Context, add, remove []string) error {
	const tries = 20
	packed := map[string][]byte{}
	for _, name := range add {
		text, err := os.ReadFile(filepath.Join(g.folder, "records", name))
		if err != nil {
			return err
		}
		packed[name] = text
	}
	var err error
	for try := range tries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(rand.N(time.Duration(try+1) * 50 * time.Millisecond)):
			}
			if err = g.Fetch(ctx); err != nil {
				return err
			}
		}
		if err = g.commit(ctx, packed, remove); err != nil {
			return err
		}
		if _, err = g.git(ctx, "push", "--quiet", "--", g.url, "HEAD:refs/heads/"+g.branch); err == nil {
			return nil
		}
	}
	return err
}

// commit makes a commit on top of what was fetched; none where nothing changes.
func (g *gitBranch) commit(ctx context.Context, packed map[string][]byte, remove []string) error {
	if _, err := g.git(ctx, "rev-parse", "--verify", "--quiet", g.there()); err != nil {
		// A branch without a parent. HEAD names no commit then, whatever was tried before.
		_, _ = g.git(ctx, "update-ref", "-d", "refs/heads/"+g.branch)
		if _, err := g.git(ctx, "symbolic-ref", "HEAD", "refs/heads/"+g.branch); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(g.folder, "records"), 0o755); err != nil {
		return err
	}
	for name, text := range packed {
		if err := os.WriteFile(filepath.Join(g.folder, "records", name), text, 0o644); err != nil {
			return err
		}
	}
	for _, name := range remove {
		if err := os.Remove(filepath.Join(g.folder, "records", name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if _, err := g.git(ctx, "add", "--all", "--force", "--", "records"); err != nil {
		return err
	}
	if _, err := g.git(ctx, "diff", "--cached", "--quiet"); err == nil {
		return nil // it is there
	}
	text := fmt.Sprintf("moonlap: %d records more, %d less", len(packed), len(remove))
	who := []string{}
	if _, err := g.git(ctx, "config", "user.email"); err != nil {
		who = []string{"-c", "user.name=moonlap", "-c", "user.email=moonlap@localhost"}
	}
	_, err := g.git(ctx, append(who, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message", text)...)
	return err
}
