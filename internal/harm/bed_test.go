package harm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime"
)

// patience is how long anything may take that has to happen at all: the machine may be busy.
const patience = 20 * time.Second

// A bed is an nginx with two workers under load, and the folder that it and moonlap live in.
type bed struct {
	testing.TB
	folder string // of nginx; what moonlap may use is below it: see look
	master int
	load   *load
	pids   []int // of the workers that have to live on

	programs map[uint32]bool // BPF programs that were there before
	freezer  freezer         // that moonlap was started in, see freezable
	group    *memoryGroup    // that nginx was started in, see starvable; nil: none
	built    string          // moonlap as script/build makes it; "": this program
	early    bool            // the accident has begun before moonlap
}

const workers = 2

const conf = `
pid %[1]s/pid; error_log %[1]s/error.log notice; worker_processes %[2]d; %[3]s user root;
events { worker_connections 256; }
http {
	access_log off; lua_shared_dict cache 1m; keepalive_requests 1000000;
	client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
	server { listen unix:%[1]s/s; location / { content_by_lua_block {
		package.loaded.app = package.loaded.app or assert(loadfile(%[4]q))()
		package.loaded.app()
	} } }
}
`

// beds are made as many as are used at the same time, and used by one fault after another. They end with their owner.
type beds struct {
	owner *testing.T
	lock  sync.Mutex
	free  []*bed
}

// take takes a bed for a test, which gives it back when it is sound.
func (a *beds) take(t *testing.T) *bed {
	t.Helper()
	a.lock.Lock()
	defer a.lock.Unlock()
	if last := len(a.free) - 1; last >= 0 {
		b := a.free[last]
		a.free = a.free[:last]
		b.TB = t
		return b
	}
	return newBed(t, a.owner)
}

func (a *beds) give(b *bed) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.free = append(a.free, b)
}

// newBed starts nginx and its load, which end with a test, or the one that it is part of; words before nginx are a program that
// starts it. Without nginx, or root, the test is skipped, unless MOONLAP_TEST_REQUIRE_ALL is set.
func newBed(t, owner *testing.T, before ...string) *bed {
	t.Helper()
	skip := t.Skip
	if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		skip = t.Fatal
	}
	if os.Geteuid() != 0 {
		skip("accidents to a worker take root: run as root")
	}
	found, err := runtime.Find(t.Context(), runtime.Nginx, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		skip(err)
	}
	b := &bed{TB: t, folder: owner.TempDir()}
	b.makeFolders()
	app, err := filepath.Abs("testdata/app.lua")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(conf, b.folder, workers, "", app)
	if m := found.LuaModule; m != "" {
		if ndk := filepath.Join(filepath.Dir(m), "ndk_http_module.so"); exists(ndk) {
			text = "load_module " + ndk + ";" + "load_module " + m + ";" + text
		} else {
			text = "load_module " + m + ";" + text
		}
	}
	file := filepath.Join(b.folder, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	words := append(before, found.Path, "-p", b.folder, "-c", file)
	cmd := exec.Command(words[0], words[1:]...) // it goes into the background, and so may be upgraded
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nginx: %v\n%s", err, out)
	}
	b.await("nginx", func() error { return b.readMaster() })
	owner.Cleanup(b.stopNginx)
	b.await("two workers", b.healthy)
	b.pids = b.workers()
	b.load = startLoad(filepath.Join(b.folder, "s"))
	owner.Cleanup(b.load.stop)
	b.await("answers", func() error {
		if b.load.answered() < 50 {
			return fmt.Errorf("%d answers", b.load.answered())
		}
		return nil
	})
	b.programs = bpfPrograms(t)
	return b
}

// makeFolders has a folder for what moonlap writes, and moonlap where every user may start it.
func (b *bed) makeFolders() {
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Chmod(filepath.Dir(b.folder), 0o711), os.Mkdir(filepath.Join(b.folder, "looks"), 0o711))
	}
	if to := filepath.Join(b.folder, "moonlap"); err == nil && os.Link(self, to) != nil {
		var text []byte
		if text, err = os.ReadFile(self); err == nil {
			err = os.WriteFile(to, text, 0o755)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// readMaster finds the process that nginx's file names, maybe as it is called in a namespace of its own.
func (b *bed) readMaster() error {
	text, err := os.ReadFile(filepath.Join(b.folder, "pid"))
	if err != nil {
		return err
	}
	named := strings.TrimSpace(string(text))
	all, err := process.IDs()
	for _, pid := range all {
		if title := (&process.Process{PID: pid}).Title(); !strings.HasPrefix(title, "nginx: master") || !strings.Contains(title, b.folder+"/") {
			continue
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range strings.Lines(string(status)) {
			if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
				if names := strings.Fields(ids); names[len(names)-1] == named {
					b.master = pid
					return nil
				}
			}
		}
	}
	return errors.Join(err, fmt.Errorf("no master is process %s", named))
}

// stopNginx ends nginx with all its workers, also those that an accident has stopped.
func (b *bed) stopNginx() {
	if b.readMaster() != nil {
		return
	}
	family := process.Family(b.master)
	syscall.Kill(b.master, syscall.SIGTERM)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := (&process.Process{PID: b.master}).Stat(); err != nil {
			break
		}
	}
	for _, pid := range family {
		if strings.HasPrefix((&process.Process{PID: pid}).Title(), "nginx: ") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// await asks until it is answered with no error, or fails the test.
func (b *bed) await(what string, ask func() error) {
	b.Helper()
	if err := awaited(ask); err != nil {
		b.Fatalf("%s: %v, after %v", what, err, patience)
	}
}

func awaited(ask func() error) (err error) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if err = ask(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// workers are the workers of the master that serve; those that are on their way out are not.
func (b *bed) workers() (pids []int) {
	all, _ := process.IDs()
	for _, pid := range all {
		p := &process.Process{PID: pid}
		if p.Title() == "nginx: worker process" && process.Parent(pid) == b.master {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// healthy tells what is wrong with the workers: too few, or one that stands still.
func (b *bed) healthy() error {
	pids := b.workers()
	if len(pids) != workers {
		return fmt.Errorf("%d workers, not %d", len(pids), workers)
	}
	var errs []error
	for _, pid := range pids {
		errs = append(errs, runs(pid))
	}
	return errors.Join(errs...)
}

// aim waits until moonlap holds a worker, so that the accident hits it then; for a while, because many commands never do.
func (b *bed) aim(l *look) (held bool) {
	pids := b.workers()
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end) && !l.stay(0); {
		for _, pid := range pids {
			if s, err := (&process.Process{PID: pid}).Stat(); err == nil && s.State == 't' {
				return true
			}
		}
	}
	return false
}

// runs tells why a process does not run: it is stopped, or traced.
func runs(pid int) error {
	s, err := (&process.Process{PID: pid}).Stat()
	switch {
	case err != nil:
		return err
	case s.State == 't' || s.State == 'T' || s.Ended():
		return fmt.Errorf("worker %d is in state %c", pid, s.State)
	}
	return nil
}

// thaw has workers run on that an accident left stopped, and whose tracer is gone.
func (b *bed) thaw() {
	for _, pid := range b.workers() {
		if runs(pid) != nil {
			syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}
