package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

// TestRecursion: functions that call themselves take one line, and others no more than can be read.
func TestRecursion(t *testing.T) {
	e := explain.Explanation{Samples: 1}
	for range 200 {
		e.Stack = append(e.Stack, worker.Frame{Kind: luajit.Lua, Function: "deep", File: "/srv/app.lua", Line: 4})
	}
	for i := range 200 {
		e.Stack = append(e.Stack, worker.Frame{Kind: luajit.Lua, Function: fmt.Sprint("f", i), File: "/srv/app.lua", Line: 5})
	}
	var b bytes.Buffer
	if err := Explain(&b, 1, e, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/srv/app.lua:4, 200 times\n", "  f48  ", "and 151 more: --json has them all\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "  f49  ") {
		t.Error("too many functions")
	}
}

// TestProfileRates: what failed was a look too, and rates are those of the time that was looked.
func TestProfileRates(t *testing.T) {
	var b bytes.Buffer
	err := Profile{
		PIDs: []int{1, 2}, Which: "wall", Duration: 4 * time.Second, Hz: 99, Looks: 300,
		Looked: 6 * time.Second, Paused: 60 * time.Millisecond, Used: time.Second,
		Explanation: explain.Explanation{Samples: 290, Failed: 10, PauseNS: 200_000},
	}.Write(&b, Options{Width: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"300 in 4", "50 a second at each worker, of 99 wanted", "10 more failed", "1 % of its time", "25 % of one processor"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
