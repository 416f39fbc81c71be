package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/runtime"
)

// WorkingTree stands for the working tree as it is, where a revision is asked for.
const WorkingTree = "."

// Whose bench file a revision runs.
const (
	FromTree     = "tree"     // the working tree's: one measure for all sides
	FromRevision = "revision" // its own
)

// A Worktree is a revision checked out into a temporary folder.
type Worktree struct {
	Dir    string // the folder in it that matches ours, for [Options]
	File   string // the bench file or the folder, from Dir; "" where there is none
	Commit string
	// Replaced says why File is the working tree's, and not the one of the revision; "" where they are the same.
	Replaced string
	// Dirty says that the tree it was made from has changes, which are not in it.
	Dirty bool

	root, path, folder string
}

// Checkout checks a revision out into a temporary worktree of git, in the repository that
// file is in, or our working folder where file is "". File may be a folder, and is the
// revision's own then; a file is from where from says, FromTree or FromRevision. What the
// working tree does not have is the revision's in any case. The caller must Remove it.
func Checkout(ctx context.Context, revision, file, from string) (*Worktree, error) {
	w := &Worktree{}
	inside, err := w.locate(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("--rev %s: %w", revision, err)
	}
	w.Commit, err = git(ctx, w.root, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("--rev %s: no such revision in %s; 'git branch --all' and 'git log --oneline' show some",
			revision, w.root)
	}
	ours := ""
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && from == FromTree {
		ours = file
	}
	if file != "" && ours == "" {
		if _, err := git(ctx, w.root, "cat-file", "-e", w.Commit+":"+inside); err != nil {
			return nil, fmt.Errorf("--rev %s: %s is not in that revision (%.10s)", revision, inside, w.Commit)
		}
	}
	changes, err := git(ctx, w.root, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return nil, fmt.Errorf("--rev %s: %w", revision, err)
	}
	w.Dirty = changes != ""
	err = w.checkout(ctx)
	if err == nil && ours != "" {
		err = w.replace(ours)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--rev %s: %w", revision, err), w.Remove())
	}
	return w, nil
}

// replace puts our file in the place of the revision's, and leaves in Replaced what was there.
func (w *Worktree) replace(ours string) error {
	content, err := os.ReadFile(ours)
	if err != nil {
		return err
	}
	// A link in the revision may lead out of the worktree; a root is not left.
	tree, err := os.OpenRoot(w.path)
	if err != nil {
		return err
	}
	defer tree.Close()
	inside, err := filepath.Rel(w.path, filepath.Join(w.Dir, w.File))
	if err != nil {
		return err
	}
	before, err := tree.ReadFile(inside)
	switch {
	case err == nil && bytes.Equal(before, content):
		return nil
	case err == nil:
		w.Replaced = "has another " + w.File
	case errors.Is(err, os.ErrNotExist):
		w.Replaced = "has no " + w.File
	default:
		return err
	}
	if err := tree.MkdirAll(filepath.Dir(inside), 0o700); err != nil {
		return err
	}
	return tree.WriteFile(inside, content, 0o600)
}

// locate finds the repository, and where in it we and the file are. It leaves in Dir and
// File what they are relative to the worktree.
func (w *Worktree) locate(ctx context.Context, file string) (inside string, err error) {
	folder, base := filepath.Split(file)
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		folder, base = file, ""
	}
	ofFile, err := placeOf(ctx, cmp.Or(folder, "."))
	if err != nil {
		return "", err
	}
	w.root = ofFile.root
	if ours, err := placeOf(ctx, "."); err == nil && ours.root == w.root {
		w.Dir = ours.prefix
	}
	if file == "" {
		return "", nil
	}
	inside = strings.TrimSuffix(ofFile.prefix+base, "/")
	w.File, err = filepath.Rel("/"+w.Dir, "/"+inside)
	return inside, err
}

// A place is a folder in a repository.
type place struct{ root, prefix string }

func placeOf(ctx context.Context, folder string) (place, error) {
	out, err := git(ctx, folder, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return place{}, err
	}
	root, prefix, _ := strings.Cut(out, "\n")
	return place{root, prefix}, nil
}

func (w *Worktree) checkout(ctx context.Context) error {
	var err error
	if w.folder, err = runtime.NewFolder(); err != nil {
		return err
	}
	forgetDead(ctx, w.root)
	w.path = filepath.Join(w.folder, "tree")
	// The user's hooks are for the user's own checkouts.
	_, err = git(ctx, w.root, "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false",
		"worktree", "add", "--detach", w.path, w.Commit)
	if err != nil {
		return err
	}
	w.Dir = filepath.Join(w.path, w.Dir)
	if _, err := os.Stat(w.Dir); err != nil {
		return fmt.Errorf("this folder is not in that revision (%.10s)", w.Commit)
	}
	return nil
}

// Revisions are the names that --rev may be given here: branches and tags, the newest first. None outside git.
func Revisions(ctx context.Context) []string {
	out, err := git(ctx, ".", "for-each-ref", "--format=%(refname:short)", "--sort=-creatordate", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

// Remove takes the worktree away, also from git's own list.
func (w *Worktree) Remove() error {
	if w.folder == "" {
		return nil
	}
	_, err := git(context.Background(), w.root, "worktree", "remove", "--force", w.path)
	if removeErr := os.RemoveAll(w.folder); removeErr != nil {
		return removeErr
	}
	if _, statErr := os.Stat(w.path); err != nil && statErr == nil {
		return fmt.Errorf("remove the worktree %s: %w", w.path, err)
	}
	return nil
}

// forgetDead takes worktrees from git's list whose moonlap was killed. Their folders are
// gone by now: see [runtime.NewFolder].
func forgetDead(ctx context.Context, root string) {
	list, err := git(ctx, root, "worktree", "list", "--porcelain")
	if err != nil {
		return
	}
	for line := range strings.Lines(list) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "worktree ")
		ours := strings.HasPrefix(filepath.Base(filepath.Dir(path)), "moonlap-") && filepath.Base(path) == "tree"
		if _, err := os.Stat(path); ok && ours && errors.Is(err, os.ErrNotExist) {
			git(ctx, root, "worktree", "remove", "--force", path)
		}
	}
}

// gitLongest bounds what git may take: a large tree on a slow disk.
const gitLongest = 5 * time.Minute

// git runs git in a folder and returns what it prints. It is in a process group of its own:
// an interrupt from the terminal reaches us alone, and we then end or tidy up.
func git(ctx context.Context, folder string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitLongest)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed")
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && stderr.Len() > 0:
		said := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return "", errors.New(strings.TrimPrefix(said[len(said)-1], "fatal: "))
	}
	return strings.TrimSuffix(string(out), "\n"), err
}
