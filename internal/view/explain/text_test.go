package explain

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestRecursion: functions that call themselves take one line, and others no more than can be read.
func TestRecursion(t *testing.T) {
	var stack []profile.Frame
	for i := range 200 {
		stack = append(stack, profile.Frame{Kind: profile.Lua, Function: fmt.Sprint("f", 199-i), File: "/srv/app.lua", Line: 5})
	}
	for range 200 {
		stack = append(stack, profile.Frame{Kind: profile.Lua, Function: "deep", File: "/srv/app.lua", Line: 4})
	}
	e := &profile.Profile{Head: profile.Head{PIDs: []int{1}, Samples: 1}}
	e.Add(stack, nil, 1)
	var b bytes.Buffer
	if err := Draw(&b, e, ui.Options{Width: 100}); err != nil {
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

// TestIdleIsShort: of a worker that does nothing the page has no more than that; its stack is in the document.
func TestIdleIsShort(t *testing.T) {
	draw := func(code string) string {
		e := &profile.Profile{Head: profile.Head{PIDs: []int{1}, Samples: 1}}
		e.Add([]profile.Frame{{Kind: profile.C, Function: "epoll_wait", File: "libc.so.6"}}, nil, 1)
		e.Evidence = evidence.Set{Name: &Findings{{code, "What it does.", "try it"}}}
		var b bytes.Buffer
		if err := Draw(&b, e, ui.Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := draw(idle); !strings.Contains(got, "What it does.") || strings.Contains(got, "epoll_wait") {
		t.Error(got)
	}
	if got := draw("busy_in_c"); !strings.Contains(got, "epoll_wait") {
		t.Error(got)
	}
}
