package probe

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReturnTrial: the trial tells a filter under which a child survives that its return is probed from one that kills it.
func TestReturnTrial(t *testing.T) {
	session, err := Open()
	if errors.Is(err, ErrUnsupported) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
	const exitGroup = 231 // what the child calls when its function has returned
	if err := tryReturn(systemCalls{exitGroup, exitGroup}); !errors.Is(err, ErrReturns) || !strings.Contains(err.Error(), "bad system call") {
		t.Errorf("a child that is killed: %v", err)
	}
	const unused = 400
	if err := tryReturn(systemCalls{unused, unused}); err != nil {
		t.Errorf("a filter that rejects nothing of it: %v", err)
	}
	err = tryReturn(newSystemCalls)
	if fixed := mended(t, kernelRelease()); fixed != (err == nil) || err != nil && !errors.Is(err, ErrReturns) {
		t.Errorf("Linux %s: %v", kernelRelease(), err)
	}
}

// mended reports whether a vanilla kernel of the release lets returns pass filters.
func mended(t *testing.T, release string) bool {
	n := regexp.MustCompile(`^(\d+)\.(\d+)(?:\.(\d+))?`).FindStringSubmatch(release)
	if n == nil {
		t.Skipf("no release: %q", release)
	}
	var v [3]int
	for i := range v {
		for _, c := range n[i+1] {
			v[i] = 10*v[i] + int(c-'0')
		}
	}
	bad := v[0] == 6 && (v[1] == 11 || v[1] == 12 && v[2] < 14 || v[1] == 13 && v[2] < 3)
	return !bad
}

// TestReturnsAsk: whatever attaches a return probe asks MayReturn in the same file.
func TestReturnsAsk(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	asking := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		code, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(code), ".Uretprobe") {
			continue
		}
		if asking++; !strings.Contains(string(code), "MayReturn(") {
			t.Errorf("%s probes returns unasked", f.Name())
		}
	}
	if asking < 2 {
		t.Errorf("%d files probe returns: are they elsewhere now?", asking)
	}
}
