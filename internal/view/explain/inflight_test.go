package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestServed: a request's light threads stand below it, nested, and those that are alike are counted; timers by function.
func TestServed(t *testing.T) {
	at := func(function string, line int) *profile.Frame {
		return &profile.Frame{Function: function, File: "/app/shop.lua", Line: line}
	}
	thread := func(state, in string, lua *profile.Frame, of ...ngxlua.Thread) ngxlua.Thread {
		return ngxlua.Thread{Kind: "thread", State: state, Waits: in, Lua: lua, Children: of}
	}
	sleep := thread("waits", "ngx.sleep", at("inner", 9))
	fresh := thread("new", "", at("later", 3))
	fresh.Kind = "coroutine"
	entry := thread("waits", "ngx.thread.wait", at("tree", 5), sleep, thread("ended", "", nil, sleep), sleep, fresh)
	next, last := 3*time.Second, 90*time.Second
	e := &profile.Profile{Head: profile.Head{PIDs: []int{7}, Unknown: []string{"timers: none\x1b[31m"}}, Evidence: evidence.Set{
		requests.Name: requests.Of(7, []ngxlua.InFlight{
			{Method: "GET", URI: "/tree", Phase: "content", Age: time.Second, Lua: at("inner", 9), Waits: "ngx.sleep", Threads: &entry},
			{Phase: "timer", Lua: at("tick", 7), Waits: "ngx.sleep"},
		}, 2),
		timers.Name: &timers.Result{Workers: []timers.Worker{{PID: 7, LuaTimers: ngxlua.LuaTimers{Pending: 7, Running: 1, MostPending: 1024, MostRunning: 256, Unread: 2, Functions: []ngxlua.TimerGroup{
			{Function: *at("tick", 6), Pending: 5, Running: 1, Next: &next, Last: &last},
			{Function: *at("once", 2), Running: 1},
		}}}}},
	}}
	var b strings.Builder
	if err := Draw(&b, e, ui.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	for _, want := range []string{
		"  1.00 s  content  GET /tree  tree shop.lua:5 in ngx.thread.wait",
		"                                2 times: thread inner shop.lua:9 in ngx.sleep",
		"                                thread ended",
		"                                  thread inner shop.lua:9 in ngx.sleep",
		"                                coroutine later shop.lua:3, not resumed yet",
		"  –       timer    (timer)    tick shop.lua:7 in ngx.sleep",
		"timers of Lua, by what they call: 7 pending of at most 1024, 1 running of 256",
		"  5              1    3.00 s    90.0 s  tick shop.lua:6",
		"  0              1         –         –  once shop.lua:2",
		"  of 2 the function is not known",
		"  not known: timers: none",
	} {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Error("what a program says came through as it is")
	}
}
