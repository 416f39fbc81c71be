// Package luajittest runs scripts in LuaJIT for tests of other rooms.
package luajittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/runtime"
)

// Script runs code in a LuaJIT until the test ends. Without LuaJIT the test is skipped, unless MOONLAP_TEST_REQUIRE_ALL is set.
func Script(t testing.TB, code string) *exec.Cmd {
	t.Helper()
	found, err := runtime.Find(t.Context(), runtime.LuaJIT, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "script.lua")
	if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(found.Path, file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// Numbers reads a given number of numbers that a script writes to a file, once they are there.
func Numbers(t *testing.T, file string, count int) []float64 {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var all []float64
		text, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(text)) {
			n, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, n)
		}
		if len(all) == count && strings.HasSuffix(string(text), "\n") {
			return all
		}
		if time.Now().After(end) {
			t.Fatalf("the script does not write %s", file)
		}
	}
}
