package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/store/storetest"
)

// at is the store of a place on a machine of its own.
func at(t *testing.T, place string, server ...*storetest.S3) *Store {
	t.Helper()
	cache := "XDG_CACHE_HOME=" + t.TempDir()
	getenv := storetest.Getenv(cache)
	if len(server) > 0 {
		getenv = server[0].Getenv(cache)
	}
	s, err := At(place, getenv)
	if err != nil {
		t.Fatal(err)
	}
	s.Summarize = stat.Summarize
	return s
}

// bareRepository is an empty one that several push to.
func bareRepository(t *testing.T) (folder string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
	folder = filepath.Join(t.TempDir(), "team.git")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return folder
}

// points are the figures of a case that a machine finds at a place.
func points(t *testing.T, s *Store) (all []float64) {
	t.Helper()
	h, err := s.History(background, "concat")
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range h.Series {
		for _, p := range series.Points {
			all = append(all, p.NSPerCall.Estimate)
		}
	}
	return all
}

// TestWritersLoseNothing: machines that save at the same moment, each some runs, all come into the history of each.
func TestWritersLoseNothing(t *testing.T) {
	places := map[string]func(t *testing.T) string{
		"folder": func(t *testing.T) string { return t.TempDir() + "/shared/" },
		"git":    func(t *testing.T) string { return "git:" + bareRepository(t) + "#figures" },
		"s3":     func(*testing.T) string { return "s3://figures/team" },
	}
	server := startS3(t)
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			const machines, runs = 5, 3
			where := place(t)
			var stores []*Store
			for range machines {
				stores = append(stores, at(t, where, server))
			}
			var writers sync.WaitGroup
			for i, s := range stores {
				writers.Go(func() {
					for j := range runs {
						m := made{name: "main", file: "app.lua", at: i*runs + j, cases: map[string]float64{"concat": 100 + float64(i*runs+j)}}
						if _, err := s.Keep(background, m.draft(t)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			writers.Wait()
			for _, s := range []*Store{stores[0], stores[machines-1], at(t, where, server)} {
				if got := points(t, s); len(got) != machines*runs {
					t.Errorf("%d of %d runs: %v", len(got), machines*runs, got)
				}
			}
		})
	}
}

// TestGitAway: what is measured while the repository is away waits, is shown meanwhile, and arrives when it is back.
func TestGitAway(t *testing.T) {
	folder := bareRepository(t)
	s := at(t, "git:"+folder)
	var said []string
	s.Note = func(text string) { said = append(said, text) }
	keep(t, s, made{name: "main", file: "app.lua", at: 1, cases: map[string]float64{"concat": 100}})
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	keep(t, s, made{name: "main", file: "app.lua", at: 2, cases: map[string]float64{"concat": 200}})
	if got := points(t, s); len(got) != 2 {
		t.Errorf("while it is away: %v", got)
	}
	if !slices.ContainsFunc(said, func(text string) bool {
		return strings.Contains(text, "1 of this machine's records wait until it can be reached")
	}) {
		t.Errorf("%q", said)
	}
	if _, err := s.Delete(background, "main"); err == nil || !strings.Contains(err.Error(), "nothing is deleted") {
		t.Errorf("deleted while it is away: %v", err)
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	if got := points(t, s); len(got) != 2 {
		t.Errorf("when it is back: %v", got)
	}
	other := at(t, "git:"+folder)
	if got := points(t, other); len(got) != 2 {
		t.Errorf("at another machine: %v", got)
	}
	if n, err := s.Rebuild(background); n != 2 || err != nil {
		t.Errorf("made again: %d, %v", n, err)
	}
}

// TestGitDelete: what one deletes is gone for the others; a branch that has something else beside the records keeps it.
func TestGitDelete(t *testing.T) {
	folder := bareRepository(t)
	clone := filepath.Join(t.TempDir(), "clone")
	script := fmt.Sprintf(`set -e; git clone -q %q %q; cd %[2]q; echo about >README; git add README
		git -c user.name=a -c user.email=a@b commit -qm begin; git push -q origin HEAD:refs/heads/main`, folder, clone)
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	a, b := at(t, "git:"+folder+"#main"), at(t, "git:"+folder+"#main")
	keep(t, a, made{name: "main", file: "app.lua", at: 1, cases: map[string]float64{"concat": 100}})
	keep(t, b, made{name: "trial", file: "app.lua", at: 2, cases: map[string]float64{"concat": 200}})
	if n, err := a.Delete(background, "trial"); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if got := points(t, b); len(got) != 1 {
		t.Errorf("%v", got)
	}
	out, err := exec.Command("git", "-C", folder, "ls-tree", "-r", "--name-only", "main").Output()
	if err != nil || !strings.HasPrefix(string(out), "README\nrecords/2026-11-21-") || strings.Count(string(out), "\n") != 2 {
		t.Errorf("%s, %v", out, err)
	}
}
