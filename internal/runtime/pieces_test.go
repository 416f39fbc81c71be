package runtime

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/lua"
)

// Strings come through LuaJIT with all their bytes.
func TestJobThroughLuaJIT(t *testing.T) {
	luajit := find(t, LuaJIT)
	rapid.Check(t, func(t *rapid.T) {
		want := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		job := Job{Code: []string{want}, Setup: want + "!", Seed: 1<<53 - 1, Rate: 0.1, Laps: true}
		cmd := exec.Command(luajit.Path, "-e", `
			local job = assert(loadstring(io.read("*a")))()
			assert(job.seed == 2^53 - 1 and job.rate == 0.1 and job.laps == true and job.round == nil)
			assert(job.setup == job.code[1] .. "!")
			io.write(job.code[1])`)
		cmd.Stdin = strings.NewReader(job.Lua())
		got, err := cmd.CombinedOutput()
		if err != nil || string(got) != want {
			t.Fatalf("%q came back as %q, %v", want, got, err)
		}
	})
}

func TestJobLua(t *testing.T) {
	got := Job{Mode: ModeList, File: "a b.lua", Index: 2, MeasureNS: 2e8, Args: []string{"{", "\n"}}.Lua()
	want := `return {mode = "list", file = "a b.lua", args = {"\123", "\010"}, index = 2, measure_ns = 2e+08}`
	if got != want {
		t.Errorf("got %s", got)
	}
}

// Every file of the library compiles.
func TestLibraryCompiles(t *testing.T) {
	luajit := find(t, LuaJIT)
	n := 0
	err := fs.WalkDir(lua.Library, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".lua" { // a licence, say
			return err
		}
		n++
		text, err := lua.Library.ReadFile(path)
		if err != nil {
			return err
		}
		// As `luajit -b` does, which needs jit.bcsave installed.
		cmd := exec.Command(luajit.Path, "-e", "string.dump(assert(loadstring(io.read('*a'))))")
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %s", path, out)
		}
		return nil
	})
	if err != nil || n < 5 {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestUnpack(t *testing.T) {
	tree := fstest.MapFS{"moonlap/a.lua": {Data: []byte("a")}, "moonlap/b/c.lua": {Data: []byte("c")}}
	dir := filepath.Join(t.TempDir(), "cache", "lua-x")
	read := func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "moonlap/b/c.lua"))
		return string(b)
	}
	if err := unpack(tree, dir); err != nil || read() != "c" {
		t.Fatalf("%v, %q", err, read())
	}
	if err := os.WriteFile(filepath.Join(dir, "moonlap/b/c.lua"), []byte("spoilt"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unpack(tree, dir); err != nil || read() != "c" {
		t.Errorf("a spoilt library stays: %v, %q", err, read())
	}
	if all, _ := filepath.Glob(filepath.Dir(dir) + "/*"); len(all) != 1 {
		t.Errorf("left beside it: %q", all)
	}
}

// TestUnpackTogether has several begin at once with an empty cache: what the first has put there stays.
func TestUnpackTogether(t *testing.T) {
	tree := fstest.MapFS{"moonlap/a.lua": {Data: []byte("a")}, "moonlap/b/c.lua": {Data: []byte("c")}}
	for range 50 {
		dir := filepath.Join(t.TempDir(), "lua-x")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := unpack(tree, dir); err != nil {
					t.Error(err)
				}
				for range 20 {
					if !holds(dir, tree) {
						t.Error("the library is gone after it was there")
						return
					}
				}
			})
		}
		all.Wait()
	}
}

func TestLibraryWithoutCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/proc/nowhere")
	t.Setenv("MOONLAP_LUA_DIR", "")
	private := t.TempDir()
	dir, err := library(private)
	if err != nil || !strings.HasPrefix(dir, private) || !holds(dir, lua.Library) {
		t.Errorf("%q, %v", dir, err)
	}
}

func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	mine, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Split(filepath.Base(mine), "-")
	recycled := strings.Join([]string{part[0], part[1], part[2], "1", "r"}, "-") // our PID, another start
	dead := strings.Join([]string{part[0], part[1], "999999999", "1", "r"}, "-")
	elsewhere := strings.Join([]string{part[0], "1", "999999999", "1", "r"}, "-")
	foreign := "moonlap-bare.x"
	for _, name := range []string{recycled, dead, elsewhere, foreign} {
		if err := os.MkdirAll(filepath.Join(tmp, name, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sweep(tmp)
	var got []string
	all, _ := os.ReadDir(tmp)
	for _, d := range all {
		got = append(got, d.Name())
	}
	want := map[string]bool{filepath.Base(mine): true, elsewhere: true, foreign: true}
	if len(got) != len(want) {
		t.Errorf("left: %q", got)
	}
	for _, name := range got {
		if !want[name] {
			t.Errorf("left: %q", name)
		}
	}
}

// However stderr is cut into pieces, nginx's log lines are told from the code's output.
func TestNginxLog(t *testing.T) {
	const text = "2026/11/21 10:07:27 [notice] 10#10: start worker processes\n" +
		"mine\n\n2026 is mine\n" +
		"2026/11/21 10:07:27 [notice] 11#11: *1 [lua] a.lua:1: logged, client: unix:\n" +
		"2026/11/21 10:07:27 [notice] 12#12: worker process 11 exited with code 9\n" +
		"2026/11/21 10:07:27 [error] 11#11: *1 bad\n" +
		"2026/11/21 10:07:27 [emerg] 10#10: refused in /x/nginx.conf:3\n" +
		"2026/11/21 10:07:27 [notice] 10#10: worker process 11 exited with code 3\n" +
		"2026/11/21 10:07:27 [alert] 10#10: worker process 12 exited on signal 11 (core dumped)\n" +
		"2026/11/21 10:07:27 [alert] 10#10: worker process 13 exited with fatal code 2 and cannot be respawned\n" +
		"no end"
	wantOut := "mine\n\n2026 is mine\n" +
		"2026/11/21 10:07:27 [notice] 11#11: *1 [lua] a.lua:1: logged, client: unix:\n" +
		"2026/11/21 10:07:27 [error] 11#11: *1 bad\nno end"
	wantDeaths := []workerDeath{{pid: 11, status: 3}, {pid: 12, signal: syscall.SIGSEGV}, {pid: 13, status: 2}}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
	} {
		var out bytes.Buffer
		var deaths []workerDeath
		log := &nginxLog{master: 10, out: &out, died: func(d workerDeath) { deaths = append(deaths, d) }}
		buffer := make([]byte, 100)
		for {
			n, err := r.Read(buffer)
			log.Write(buffer[:n])
			if err != nil {
				break
			}
		}
		log.flush()
		if diff := cmp.Diff(wantOut, out.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(wantDeaths, deaths, cmp.AllowUnexported(workerDeath{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(log.refusal) != 2 {
			t.Errorf("%s: refusal %q", name, log.refusal)
		}
	}
}

// A prompt without an end of line is seen at once.
func TestNginxLogHoldsNoPromptBack(t *testing.T) {
	var out bytes.Buffer
	log := &nginxLog{out: &out}
	log.Write([]byte("name? "))
	if out.String() != "name? " {
		t.Errorf("got %q", out.String())
	}
}

func TestReadLine(t *testing.T) {
	r := bufio.NewReaderSize(strings.NewReader("short\n"+strings.Repeat("x", 100)+"\nafter\ncut off"), 16)
	var got []string
	for {
		line, err := readLine(r, 50)
		if err == io.EOF {
			break
		}
		if err != nil {
			line = []byte(err.Error())
		}
		got = append(got, string(line))
	}
	if diff := cmp.Diff([]string{"short\n", errTooLong.Error(), "after\n"}, got); diff != "" {
		t.Error(diff)
	}
}

// The whole configuration, as a reader of it would want to see it.
func TestConfGolden(t *testing.T) {
	c := &nginxConf{
		Modules: []string{"/m/ndk_http_module.so", "/m/ngx_http_lua_module.so"}, User: "root root",
		Workers: 1, Env: []string{"HOME", "MOONLAP_JOB"}, Phase: "log", Socket: "/tmp/x/s",
		MainConf: []string{"worker_priority 1;"}, HTTPConf: []string{"lua_shared_dict cats 1m;"},
		Library: "/lib", Call: `require("moonlap.bench.process").nginx("log")`, folder: "/tmp/x",
	}
	got, err := c.render()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/log.conf")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
	for _, o := range c.origins {
		if line := strings.Split(got, "\n")[o.first-1]; line != o.text || o.first != o.last {
			t.Errorf("line %d is %q, not %q", o.first, line, o.text)
		}
	}
}

// A directive of a module that nginx was built without keeps it from starting.
func TestConfWithoutModules(t *testing.T) {
	for _, c := range []struct {
		without []string
		want    []string
	}{
		{nil, []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}},
		{[]string{"scgi", "gzip", "fastcgi"}, []string{"client_body", "proxy", "uwsgi"}},
	} {
		text, err := (&nginxConf{Without: c.without, Workers: 1, Phase: "content", folder: "/tmp/x"}).render()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^ *(\w+)_temp_path "/tmp/x/`).FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("without %v:\n%s", c.without, diff)
		}
	}
}
