package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	write(t, name, "12345678", 0o600)
	if b, err := Read(name, 8); err != nil || string(b) != "12345678" {
		t.Errorf("%q, %v", b, err)
	}
	sparse := filepath.Join(dir, "sparse")
	write(t, sparse, "", 0o600)
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	var limit *LimitError
	for _, large := range []string{name, sparse} {
		if _, err := Read(large, 7); !errors.As(err, &limit) || limit.Name != large {
			t.Errorf("%s: %v", large, err)
		}
	}
	for _, bad := range []string{"/dev/zero", "/dev/null", dir, filepath.Join(dir, "none")} {
		if _, err := Read(bad, 1<<20); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A pipe has no size that could be asked for.
func TestReadPipe(t *testing.T) {
	for _, n := range []int{1 << 10, 1<<10 + 1} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			w.Write(make([]byte, n))
			w.Close()
		}()
		b, err := io.ReadAll(Limit(r, "a pipe", 1<<10))
		if len(b) != 1<<10 || (err != nil) != (n > 1<<10) {
			t.Errorf("%d bytes: %d, %v", n, len(b), err)
		}
		if err != nil && err.Error() != "a pipe holds more than 1 KiB, the most that is read" {
			t.Error(err)
		}
		r.Close()
	}
}

// TestOpenPipe: a pipe is read as soon as somebody writes to it, and not waited for without an end.
func TestOpenPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func(before time.Duration) { patience = before }(patience)
	patience = 10 * time.Millisecond
	if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "nobody has opened it for writing") {
		t.Errorf("%v", err)
	}
	patience = time.Minute
	go os.WriteFile(name, []byte("late"), 0) // the open before ends with it, too
	if b, err := Read(name, 10); err != nil || string(b) != "late" {
		t.Errorf("%q, %v", b, err)
	}
}

// JSONMemory is no less than what the worst texts really take.
func TestJSONMemory(t *testing.T) {
	type frame struct {
		A, B, C string
		D, E    int
		F       bool
	}
	type wide struct {
		Frames []frame
		Labels map[string]string
		Counts []int64
		Any    any
		N      int64
	}
	for name, text := range map[string]string{
		"empty objects":  `{"Frames":[` + strings.Repeat("{},", 200000) + `{}]}`,
		"nulls":          `{"Frames":[` + strings.Repeat("null,", 200000) + `null]}`,
		"numbers":        `{"Counts":[` + strings.Repeat("1,", 400000) + `1]}`,
		"numbers as any": `{"Any":[` + strings.Repeat("1,", 400000) + `1]}`,
		"lists":          `{"Any":[` + strings.Repeat("[[]],", 200000) + `1]}`,
		"objects as any": `{"Any":[` + strings.Repeat(`{"":{}},`, 100000) + `1]}`,
		"deep":           `{"Any":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
	} {
		b := []byte(text)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var into wide
		if err := json.Unmarshal(b, &into); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		took := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		if bound := 2 * JSONMemory(b); took > bound { // slices have up to as much again to spare
			t.Errorf("%s: %d bytes of memory, and the bound is %d", name, took, bound)
		}
		runtime.KeepAlive(reflect.ValueOf(into))
	}
	honest := `{"function":"access","file":"/usr/local/share/lua/app/router.lua","first_line":12,"line":40,"kind":"lua"},`
	if m := JSONMemory(bytes.Repeat([]byte(honest), 1000)); m > 4*1000*int64(len(honest)) {
		t.Errorf("an honest text is taken for %d times as large", m/1000/int64(len(honest)))
	}
	if err := CheckJSON("f", bytes.Repeat([]byte("{"), MostMemory/100)); err == nil {
		t.Error("no error")
	}
}
