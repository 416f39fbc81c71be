package runtime

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

func TestLoadJob(t *testing.T) {
	from := 10.0
	got := LoadJob{
		Sides: []LoadSide{{
			Name: "A", URL: "http://h/", Addresses: []string{"127.0.0.1:80"}, Headers: [][2]string{{"X", `a"b`}}, PIDs: []int{4, 5},
			Args: []string{"one"}, TLS: LoadTLS{Insecure: true, SNI: "n"},
		}},
		Threads: 2, Connections: 4, DurationNS: 1e9, Stages: []record.LoadStage{{Rate: 20, DurationNS: 5, From: &from}}, Protocol: "http1",
	}.Lua()
	for _, want := range []string{
		`return {kind = "load", sides = {{name = "A", url = "http://h/", addresses = {"127.0.0.1:80"}, headers = {{"X", "a\034b"}}`,
		`pids = {4, 5}`, `args = {"one"}`, `tls = {insecure = true, sni = "n", resume = true}`, `threads = 2`, `duration_ns = 1e+09`,
		`stages = {{rate = 20, duration_ns = 5, from = 10}}`, `keepalive = true`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// engine starts an engine whose main is this Lua, and hands its lines to each.
func engine(t *testing.T, main string, each func(*LoadEngine, record.Line)) (fault *record.Fault, exit *record.Exit) {
	t.Helper()
	luajit, err := Find(t.Context(), LuaJIT, Options{Path: os.Getenv("PATH")})
	if err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	library := t.TempDir()
	if err := os.Mkdir(filepath.Join(library, "moonlap"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "local ffi = require 'ffi' ffi.cdef'int write(int, const char *, size_t); void *signal(int, void *); int usleep(unsigned);'\n" +
		"local function say(s) ffi.C.write(3, s .. '\\n', #s + 1) end\nreturn { main = function() " + main + " end }"
	if err := os.WriteFile(filepath.Join(library, "moonlap", "load.lua"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MOONLAP_LUA_DIR", library)
	e, err := StartLoad(t.Context(), LoadSpec{Runtime: luajit, Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for l := range e.Lines {
		switch l := l.(type) {
		case record.Fault:
			fault = &l
		case record.Exit:
			exit = &l
		default:
			if each != nil {
				each(e, l)
			}
		}
	}
	if _, err := os.Stat(e.folder); err == nil {
		t.Error("its folder is still there")
	}
	return fault, exit
}

func TestLoadEngineEnds(t *testing.T) {
	done := `say('{"type":"load_done","stop":"duration","elapsed_ns":1}')`
	if fault, exit := engine(t, done, nil); fault != nil || exit == nil || exit.Status != 0 {
		t.Errorf("healthy: %+v, %+v", fault, exit)
	}
	if fault, _ := engine(t, "", nil); fault == nil || !strings.Contains(fault.Text, "before it had finished") {
		t.Errorf("it said nothing: %+v", fault)
	}
	if fault, _ := engine(t, "error('broken')", nil); fault == nil || !strings.Contains(fault.Text, "broken") {
		t.Errorf("it threw: %+v", fault)
	}
	if fault, _ := engine(t, "ffi.cast('int *', 0)[0] = 1", nil); fault == nil || fault.Kind != record.FaultCrash {
		t.Errorf("it crashed: %+v", fault)
	}
	if fault, _ := engine(t, "say('nonsense') "+done, nil); fault == nil || fault.Kind != record.FaultChannel {
		t.Errorf("it said nonsense: %+v", fault)
	}
	deaf := `ffi.C.signal(15, ffi.cast('void *', 1)) say('{"type":"load_begin","at_ns":1}') while true do ffi.C.usleep(1000) end`
	fault, exit := engine(t, deaf, func(e *LoadEngine, _ record.Line) { e.Interrupt(); e.Interrupt() })
	if fault != nil || exit == nil || exit.Signal != "SIGKILL" {
		t.Errorf("it does not end when asked: %+v, %+v", fault, exit)
	}
}
