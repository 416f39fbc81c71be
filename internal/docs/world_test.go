package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/moonlap/moonlap/internal/runtime"
)

// A world is where commands run: the program of this tree in front of the PATH.
type world struct {
	bin string
}

// newWorld builds the program. Without LuaJIT, nginx or bash the test is skipped, or fails
// where MOONLAP_TEST_REQUIRE_ALL says that they must be there.
func newWorld(t *testing.T) *world {
	t.Helper()
	for _, kind := range []string{runtime.LuaJIT, runtime.Nginx} {
		_, err := runtime.Find(t.Context(), kind, runtime.Options{Path: os.Getenv("PATH")})
		need(t, err)
	}
	_, err := exec.LookPath("bash")
	need(t, err)
	w := &world{bin: t.TempDir()}
	for _, command := range []string{"github.com/moonlap/moonlap/cmd/moonlap", "golang.org/x/perf/cmd/benchstat"} {
		build := exec.Command("go", "build", "-o", w.bin, command)
		build.Dir = root
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", command, err, output)
		}
	}
	return w
}

func need(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "":
		t.Fatal(err)
	default:
		t.Skipf("%v; 'script/bootstrap test' installs it", err)
	}
}

// folder is a fresh one that looks like the root to whoever follows a page.
func (w *world) folder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	examples, err := filepath.Abs(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(folder, "examples")); err != nil {
		t.Fatal(err)
	}
	return folder
}
