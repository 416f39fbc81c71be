package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/probe/probetest"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/runtime/runtimetest"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestMain makes the test binary moonlap itself where a script calls it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"moonlap": func() { os.Exit(mainAsDocumented(os.Args[1:])) },
	})
}

// mainAsDocumented is Main, held to the codes that the command's help names: every script checks them.
func mainAsDocumented(args []string) int {
	const undocumented = 99
	code := Main(Interruptible(), withLedger(RealSys(), args), args)
	if command, _, err := newRootCommand(RealSys()).Find(args); err == nil && !endsWith(command.Name(), code) {
		fmt.Fprintf(os.Stderr, "moonlap %s ended with %d, which its help does not name\n", command.Name(), code)
		return undocumented
	}
	return code
}

// TestScripts runs whole commands as users do. Each script has a TMPDIR of its own; at
// its end nothing may be left there, and no process that descends from it.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts(t, "testdata/script"))
}

// scripts are the scripts in a folder, with variables set ("NAME=value").
func scripts(t *testing.T, folder string, variables ...string) testscript.Params {
	return testscript.Params{
		Dir:                 folder,
		RequireExplicitExec: false,
		Condition: func(condition string) (bool, error) {
			switch condition {
			case runtime.Nginx, runtime.LuaJIT, runtime.Go:
				return offered(t, condition)
			case "stoppable":
				return stoppable(t)
			case "cores":
				return cores(t), nil
			case "namespaces":
				return namespaces(t)
			case "mounts":
				return mounts(t)
			case "slurm":
				return haveSlurm(t)
			case "postgres":
				return havePostgres(t)
			case "sshd":
				return haveSSHD(t)
			case "luasocket":
				return luaSocket(t)
			case "ebpf":
				ok, why, err := probetest.Works()
				if why != nil {
					t.Logf("not tested: %v", why)
				}
				return ok, err
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
		Setup: func(env *testscript.Env) error {
			tmp := filepath.Join(env.WorkDir, ".tmp")
			env.Setenv("TMPDIR", tmp)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv(runtimetest.Mark, env.WorkDir)
			env.Vars = append(env.Vars, variables...)
			env.Vars = append(env.Vars, goEnvironment()...)
			env.Defer(func() {
				if left := runtimetest.Left(tmp, env.WorkDir); left != "" {
					t.Errorf("%s: %s", filepath.Base(env.WorkDir), left)
				}
			})
			return os.MkdirAll(tmp, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"accidents":  haveAccidents,
			"benchstat":  benchstat,
			"clean":      clean,
			"echoserver": echoServer,
			"exits":      exits,
			"fields":     fields,
			"fits":       fits,
			"freeport":   freePort,
			"kept":       kept,
			"overhead":   overhead,
			"postgres":   startPostgres,
			"s3server":   startS3,
			"signal":     sendSignal,
			"slurm":      slurmCluster,
			"sql":        askPostgres,
			"sshd":       sshServer,
			"webserver":  webServer,
		},
	}
}

// offered reports whether this machine has the runtime. With MOONLAP_TEST_REQUIRE_ALL
// set it must.
func offered(t *testing.T, kind string) (bool, error) {
	_, err := runtime.Find(t.Context(), kind, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		return false, err
	}
	if err != nil {
		t.Logf("not tested: %v", err)
	}
	return err == nil, nil
}

// cores reports whether the kernel writes core files where a process is. Many machines give them to a program.
func cores(t *testing.T) bool {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	var limit syscall.Rlimit
	err = errors.Join(err, syscall.Getrlimit(syscall.RLIMIT_CORE, &limit))
	text := strings.TrimSpace(string(pattern))
	plain := err == nil && strings.HasPrefix(text, "core") && !strings.ContainsAny(text, "|/") && limit.Max == ^uint64(0)
	if !plain {
		t.Logf("core files are not tested: core_pattern is %q, of at most %d bytes, %v", text, limit.Max, err)
	}
	return plain
}

// stoppable reports whether a process may be stopped and looked at: a container or a kernel may
// forbid it. With MOONLAP_TEST_REQUIRE_ALL set it must.
func stoppable(t *testing.T) (bool, error) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		return false, err
	}
	defer child.Wait()
	defer child.Process.Kill()
	p, err := process.Open(child.Process.Pid)
	if err == nil {
		defer p.Close()
		_, err = p.Stopped(time.Second, func(process.Registers) error { return nil })
	}
	if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Logf("not tested: %v", err)
		return false, nil
	}
	return err == nil, err
}

// namespaces reports whether a process may get a namespace of processes of its own, as in a container.
// With MOONLAP_TEST_REQUIRE_ALL set it must.
func namespaces(t *testing.T) (bool, error) {
	out, err := exec.Command("unshare", "--fork", "--pid", "true").CombinedOutput()
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Logf("not tested: %v %s", err, out)
		return false, nil
	}
	return err == nil, err
}

// mounts reports whether a process may get mounts of its own. With MOONLAP_TEST_REQUIRE_ALL set it must, but in a folder that is
// the root by chroot alone: such a root is no mount, and its mounts cannot be parted from the machine's.
func mounts(t *testing.T) (bool, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, err
	}
	const mountPoint = 4 // proc_pid_mountinfo(5)
	isMount := func(line string) bool {
		fields := strings.Fields(line)
		return len(fields) > mountPoint && fields[mountPoint] == "/"
	}
	if !slices.ContainsFunc(strings.Split(string(text), "\n"), isMount) {
		t.Log("not tested: the root is no mount, but a folder that chroot has made the root")
		return false, nil
	}
	out, err := exec.Command("unshare", "--mount", "true").CombinedOutput()
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Logf("not tested: %v %s", err, out)
		return false, nil
	}
	return err == nil, err
}

// luaSocket reports whether LuaJIT finds LuaSocket. With MOONLAP_TEST_REQUIRE_ALL set it must.
func luaSocket(t *testing.T) (bool, error) {
	out, err := exec.Command("luajit", "-e", "require('socket')").CombinedOutput()
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Logf("not tested: %v %s; run script/bootstrap test", err, out)
		return false, nil
	}
	return err == nil, err
}

// goEnvironment lets a script's go command use what ours has compiled and fetched, and
// fetch nothing itself.
var goEnvironment = sync.OnceValue(func() []string {
	env := []string{"GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local"}
	if repository, err := filepath.Abs("../.."); err == nil {
		env = append(env, "REPOSITORY="+repository)
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		if value, err := exec.Command("go", "env", name).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(value)))
		}
	}
	return env
})

// clean is the script command `clean`: nothing of moonlap is left right now, neither a
// process nor a folder or socket.
func clean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: clean")
	}
	if left := runtimetest.Left(ts.Getenv("TMPDIR"), ts.Getenv(runtimetest.Mark)); left != "" {
		ts.Fatalf("%s", left)
	}
}

// fits is the script command `fits [FILE]`: no line of a report, that of the last command or one in a file, is wider
// than the 80 columns that it has where stdout is no terminal.
func fits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: fits [FILE]")
	}
	for line := range strings.Lines(ts.ReadFile(append(args, "stdout")[0])) {
		if width := lipgloss.Width(strings.TrimSuffix(line, "\n")); width > ui.DefaultWidth {
			ts.Fatalf("%d columns: %s", width, line)
		}
	}
}

// sendSignal is the script command `signal NAME FILE COMMAND…`: it runs the command, sends
// it the signal once FILE exists, and prints the exit code.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: signal NAME FILE COMMAND…")
	}
	cmd := scriptCommand(ts, args[2:])
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Start())
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[1])); err == nil {
			break
		}
		if time.Now().After(end) {
			cmd.Process.Kill()
			ts.Fatalf("%s did not appear", args[1])
		}
	}
	signal := unix.SignalNum("SIG" + args[0])
	if signal == 0 && args[0] != "0" {
		ts.Fatalf("no signal SIG%s", args[0])
	}
	ts.Check(syscall.Kill(cmd.Process.Pid, signal))
	cmd.Wait()
	fmt.Fprintf(ts.Stdout(), "exit %d\n", cmd.ProcessState.ExitCode())
}

// freePort is the script command `freeport NAME`: NAME becomes a TCP port of loopback where nobody listens.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport NAME")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	ts.Check(errors.Join(err, listener.Close()))
	ts.Setenv(args[0], port)
}

// echoServer is the script command `echoserver NAME`: a TCP server on loopback that
// sends back what it gets; NAME becomes its address.
func echoServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: echoserver NAME")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
	ts.Setenv(args[0], listener.Addr().String())
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()
}
