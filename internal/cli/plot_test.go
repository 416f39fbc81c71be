package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPlotInterrupted: a pipe that never ends does not keep plot or report from ending.
func TestPlotInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.svg")
	for _, args := range [][]string{{"plot", "-", "--out", file}, {"report", "-"}} {
		in, out := io.Pipe()
		defer out.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			io.WriteString(out, "{") // it is reading now
			cancel()
		}()
		var said strings.Builder
		sys := Sys{Stdin: in, Stdout: &said, Stderr: &said, Getenv: func(string) string { return "" }, Now: time.Now, Width: func() int { return 80 }}
		if code := Main(ctx, sys, args); code != ExitInterrupted {
			t.Errorf("%v ends with %d: %s", args, code, said.String())
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("an interrupted plot left a file")
	}
}
