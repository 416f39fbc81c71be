package harm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime"
)

// starvable has nginx start in a memory cgroup of its own.
func starvable(t *testing.T) (*memoryGroup, []string) {
	g, err := newMemoryGroup("starved")
	if err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := g.remove(); err != nil {
			t.Error(err)
		}
	})
	// It is as any other program for the kernel, whatever this test is.
	return g, []string{"sh", "-c", `echo 0 >/proc/self/oom_score_adj; echo $$ >"$0"; exec "$@"`, filepath.Join(g.folder, "cgroup.procs")}
}

// startsStarved has moonlap start in the cgroup of the workers, as script/build makes it. Half the time there is too little left
// for it from the beginning on.
func startsStarved(b *bed, r *rand.Rand) []string {
	b.build()
	if b.early = r.IntN(2) == 0; b.early {
		const enough = 72 << 20
		if err := b.leave(r.Int64N(enough)); err != nil {
			b.Fatal(err)
		}
	}
	return []string{"sh", "-c", `echo $$ >"$0"; exec "$@"`, filepath.Join(b.group.folder, "cgroup.procs")}
}

// build makes moonlap as script/build does, in place of this program.
func (b *bed) build() {
	program := filepath.Join(b.folder, "moonlap")
	if b.built == program {
		return
	}
	const entry = "-E moonlap_entry"
	if script, err := os.ReadFile("../../script/build"); err != nil || !strings.Contains(string(script), entry) {
		b.Fatalf("script/build does not have %s, %v", entry, err)
	}
	os.Remove(program)
	build := exec.Command("go", "build", "-ldflags", "-s -w "+entry, "-o", program, "../../cmd/moonlap")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	b.built = program
}

// leave has so much left for the group, beyond what its processes have taken lately.
func (b *bed) leave(left int64) error {
	most := int64(0)
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		usage, err := b.group.usage()
		if err != nil {
			return err
		}
		most = max(most, usage)
	}
	return b.group.limit(most + left)
}

// starved: there is next to nothing left in the memory cgroup of the workers and moonlap, as where a worker grows. The kernel may
// end moonlap, and nobody else; or moonlap says that there is too little.
func starved(b *bed, l *look, r *rand.Rand) error {
	before := b.workers()
	var err error
	if !b.early {
		err = b.leave(r.Int64N(2 << 20))
		if errors.Is(err, syscall.EBUSY) { // moonlap has grown meanwhile
			err = nil
		}
	}
	err = errors.Join(err, l.finish(), b.group.limit(-1))
	if now := b.workers(); fmt.Sprint(now) != fmt.Sprint(before) {
		err = errors.Join(err, fmt.Errorf("the workers were %v, and are %v", before, now))
	}
	out := l.output.String()
	if code := l.ProcessState.ExitCode(); code > 0 && !strings.Contains(out, "to spare") && !strings.Contains(out, "cannot allocate") &&
		!strings.Contains(out, "its own holder of it") || strings.Contains(out, "goroutine ") {
		err = errors.Join(err, fmt.Errorf("exit status %d: %s", code, out))
	}
	return err
}

// A memoryGroup is a cgroup of the test's own that limits memory.
type memoryGroup struct {
	folder, root string
	limitFile    string
	usageFile    string
}

// newMemoryGroup makes a group where the memory controller is: version 1, or version 2.
func newMemoryGroup(name string) (*memoryGroup, error) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	number := looks.Add(1)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		g := &memoryGroup{root: f[1], folder: filepath.Join(f[1], fmt.Sprintf("moonlap-%s-%d-%d", name, os.Getpid(), number))}
		switch {
		case f[2] == "cgroup" && strings.Contains(","+f[3]+",", ",memory,"):
			g.limitFile, g.usageFile = "memory.limit_in_bytes", "memory.usage_in_bytes"
		case f[2] == "cgroup2":
			g.limitFile, g.usageFile = "memory.max", "memory.current"
		default:
			continue
		}
		if err := os.Mkdir(g.folder, 0o755); err != nil {
			continue
		}
		if exists(filepath.Join(g.folder, g.limitFile)) {
			return g, nil
		}
		os.Remove(g.folder)
	}
	return nil, errors.New("no memory cgroup can be made: mount one with the memory controller, and run as root")
}

func (g *memoryGroup) write(file, text string) error {
	return os.WriteFile(filepath.Join(g.folder, file), []byte(text), 0)
}

func (g *memoryGroup) limit(bytes int64) error {
	return g.write(g.limitFile, strconv.FormatInt(bytes, 10))
}

func (g *memoryGroup) usage() (int64, error) {
	b, err := os.ReadFile(filepath.Join(g.folder, g.usageFile))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// remove lets all its processes go, and removes the group.
func (g *memoryGroup) remove() error {
	return awaited(func() error {
		b, _ := os.ReadFile(filepath.Join(g.folder, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(b)) {
			os.WriteFile(filepath.Join(g.root, "cgroup.procs"), []byte(pid), 0)
		}
		return os.Remove(g.folder)
	})
}

// A holding is an nginx with one worker in a memory cgroup, which holds a large heap.
type holding struct {
	*testing.T
	folder string
	worker int
	group  *memoryGroup
	client *http.Client
}

const holdingConf = `
pid %[1]s/pid; error_log %[1]s/error.log notice; worker_processes 1; daemon off; user root;
events { worker_connections 32; }
http {
	access_log off;
	client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
	server { listen unix:%[1]s/s; location / { content_by_lua_block {
		local held = package.loaded.held or {}
		package.loaded.held = held
		for i = 1, tonumber(ngx.var.args) or 0 do
			held[#held + 1] = {name = ("x"):rep(1000) .. #held}
		end
		ngx.print(collectgarbage("count"))
	} } }
}
`

func newHolding(t *testing.T, tables int) *holding {
	t.Helper()
	skip := t.Skip
	if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		skip = t.Fatal
	}
	if os.Geteuid() != 0 {
		skip("a memory cgroup takes root: run as root")
	}
	found, err := runtime.Find(t.Context(), runtime.Nginx, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		skip(err)
	}
	h := &holding{T: t, folder: t.TempDir()}
	if h.group, err = newMemoryGroup("holding"); err != nil {
		skip(err)
	}
	t.Cleanup(func() {
		if err := h.group.remove(); err != nil {
			t.Error(err)
		}
	})
	text := fmt.Sprintf(holdingConf, h.folder)
	if m := found.LuaModule; m != "" {
		text = "load_module " + m + ";" + text
		if ndk := filepath.Join(filepath.Dir(m), "ndk_http_module.so"); exists(ndk) {
			text = "load_module " + ndk + ";" + text
		}
	}
	file := filepath.Join(h.folder, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// It is as any other program for the kernel, whatever this test is.
	cmd := exec.Command("sh", "-c", `echo 0 > /proc/self/oom_score_adj; echo $$ > "$0"; exec "$@"`, filepath.Join(h.group.folder, "cgroup.procs"),
		found.Path, "-p", h.folder, "-c", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	h.client = &http.Client{Timeout: 4 * patience, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(h.folder, "s"))
	}}}
	if err := awaited(func() error {
		for _, pid := range process.Family(cmd.Process.Pid) {
			if (&process.Process{PID: pid}).Title() == "nginx: worker process" {
				h.worker = pid
				return h.answers("/")
			}
		}
		return errors.New("no worker")
	}); err != nil {
		log, _ := os.ReadFile(filepath.Join(h.folder, "error.log"))
		t.Fatalf("%v\n%s", err, log)
	}
	if err := h.answers("/?" + strconv.Itoa(tables)); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *holding) answers(path string) error {
	res, err := h.client.Get("http://holding" + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s, %v", res.Status, err)
	}
	return nil
}

// leave has only so much left in the group.
func (h *holding) leave(bytes int64) {
	h.Helper()
	used, err := h.group.usage()
	if err == nil {
		err = h.group.limit(used + bytes)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// lives reports that the worker is the one that it was, and answers.
func (h *holding) lives() {
	h.Helper()
	if err := runs(h.worker); err != nil {
		h.Fatalf("the worker: %v", err)
	}
	if err := h.answers("/"); err != nil {
		h.Fatalf("the worker does not answer: %v", err)
	}
	if title := (&process.Process{PID: h.worker}).Title(); title != "nginx: worker process" {
		h.Fatalf("process %d is %q now", h.worker, title)
	}
}

// moonlap starts moonlap, in the worker's group or not.
func (h *holding) moonlap(inside bool, arguments ...string) (*exec.Cmd, *strings.Builder) {
	h.Helper()
	self, err := os.Executable()
	if err != nil {
		h.Fatal(err)
	}
	enter := ""
	if inside {
		enter = `echo $$ > "$0"; `
	}
	cmd := exec.Command("sh", append([]string{"-c", enter + `exec "$@"`, filepath.Join(h.group.folder, "cgroup.procs"), self}, arguments...)...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said := &strings.Builder{}
	cmd.Stderr, cmd.Stdout = said, io.Discard
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	return cmd, said
}

// TestStarvedHeap: whatever is left in the memory cgroup of a worker with a large heap, the worker outlives each look at it,
// from inside the group and from outside. Where the copy does not fit, moonlap says so, and spills it where it may; nothing of
// the file is seen. MOONLAP_HARM is how often.
func TestStarvedHeap(t *testing.T) {
	t.Parallel()
	times := 1
	if n, err := strconv.Atoi(os.Getenv(timesVariable)); err == nil {
		times = n
	}
	const tables, left = 80_000, 56 << 20 // 90 MB, of which half would fit
	h := newHolding(t, tables)
	spill := filepath.Join(h.folder, "spill")
	if err := os.Mkdir(spill, 0o700); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(h.worker)
	for range times {
		h.leave(left)
		cmd, said := h.moonlap(true, "heap", "--pid", pid, "--pause", "1m")
		if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "to spare; --spill DIR") || !strings.Contains(said.String(), "memory cgroup /") {
			t.Errorf("the copy does not fit: %v: %s", err, said)
		}
		h.lives()

		cmd, said = h.moonlap(true, "heap", "--pid", pid, "--pause", "0", "--spill", spill)
		for ended := false; !ended; {
			// The files of a process that has ended are gone with it.
			if entries, err := os.ReadDir(spill); err != nil || len(entries) > 0 {
				t.Errorf("%v can be seen in the folder, %v", entries, err)
			}
			ended = cmd.ProcessState != nil || func() bool {
				s, err := (&process.Process{PID: cmd.Process.Pid}).Stat()
				return err != nil || s.Ended()
			}()
			time.Sleep(5 * time.Millisecond)
		}
		if err := cmd.Wait(); err != nil && inMemory(spill) == "" {
			t.Errorf("spilt: %v: %s", err, said)
		}
		h.lives()

		signals := []syscall.Signal{syscall.SIGINT, syscall.SIGKILL}
		if times == 1 {
			signals = signals[rand.IntN(2):][:1]
		}
		for _, signal := range signals {
			cmd, said = h.moonlap(true, "heap", "--pid", pid, "--pause", "0", "--spill", spill)
			time.Sleep(time.Duration(rand.Int64N(int64(time.Second))))
			syscall.Kill(-cmd.Process.Pid, signal)
			cmd.Wait()
			if entries, err := os.ReadDir(spill); err != nil || len(entries) > 0 {
				t.Errorf("after %v %v is left, %v", signal, entries, err)
			}
			h.lives()
		}

		h.leave(4 << 20) // moonlap outside takes none of it
		cmd, said = h.moonlap(false, "heap", "--pid", pid, "--pause", "1m")
		if err := cmd.Wait(); err != nil {
			t.Errorf("from outside: %v: %s", err, said)
		}
		h.lives()
	}
}

// inMemory says why a folder cannot prove that spilling works: it is memory itself.
func inMemory(folder string) string {
	var s syscall.Statfs_t
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	if syscall.Statfs(folder, &s) == nil && (s.Type == tmpfs || s.Type == ramfs) {
		return folder + " is in memory"
	}
	return ""
}
