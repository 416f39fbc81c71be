package probetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Generated makes the objects of a package anew and compares them with those that are committed. Other releases
// of clang make other code, so it takes that of gen.go.
func Generated(t *testing.T, room string) {
	t.Helper()
	for _, program := range []string{"clang-14", "llvm-strip-14"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		} else if err != nil {
			t.Skip(err)
		}
	}
	source, err := os.ReadFile("gen.go")
	if err != nil {
		t.Fatal(err)
	}
	const mark = "//go:generate go "
	folder := t.TempDir()
	directives := 0
	for line := range strings.Lines(string(source)) {
		directive, ok := strings.CutPrefix(line, mark)
		if !ok {
			continue
		}
		directives++
		arguments := strings.Fields(directive)
		const afterTool = 2 // run, bpf2go
		command := exec.Command("go", append(append(arguments[:afterTool:afterTool], "-output-dir", folder), arguments[afterTool:]...)...)
		command.Env = append(os.Environ(), "GOPACKAGE="+room)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	made, _ := filepath.Glob(filepath.Join(folder, "*"))
	if directives == 0 || len(made) != 2*directives {
		t.Fatalf("%d files of %d directives: %v", len(made), directives, made)
	}
	for _, file := range made {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its source makes: run go generate in its folder", filepath.Base(file))
		}
	}
}
