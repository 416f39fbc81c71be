package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonlap/moonlap/internal/runtime"
)

// TestMain makes the test binary moonlap itself where a script calls it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"moonlap": func() { os.Exit(Main(Interruptible(), RealSys(), os.Args[1:])) },
	})
}

// TestScripts runs whole commands as users do. Each script has a TMPDIR of its own; at
// its end nothing may be left there, and no process that descends from it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: false,
		Condition: func(condition string) (bool, error) {
			switch condition {
			case runtime.Nginx, runtime.LuaJIT:
				return offered(t, condition)
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
		Setup: func(env *testscript.Env) error {
			tmp := filepath.Join(env.WorkDir, ".tmp")
			env.Setenv("TMPDIR", tmp)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("MOONLAP_TEST_MARK", env.WorkDir)
			env.Defer(func() {
				if left := leftBehind(tmp, env.WorkDir); left != "" {
					t.Errorf("%s: %s", filepath.Base(env.WorkDir), left)
				}
			})
			return os.MkdirAll(tmp, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"clean":  clean,
			"signal": sendSignal,
		},
	})
}

// offered tells whether this machine has the runtime. With MOONLAP_TEST_REQUIRE_ALL
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

// clean is the script command `clean`: nothing of moonlap is left right now, neither a
// process nor a folder or socket.
func clean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: clean")
	}
	if left := leftBehind(ts.Getenv("TMPDIR"), ts.Getenv("MOONLAP_TEST_MARK")); left != "" {
		ts.Fatalf("%s", left)
	}
}

// sendSignal is the script command `signal NAME FILE COMMAND…`: it runs the command, sends
// it the signal once FILE exists, and prints the exit code.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: signal NAME FILE COMMAND…")
	}
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "TMPDIR", "XDG_CACHE_HOME", "MOONLAP_TEST_MARK", "HOME"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if path, err := exec.LookPath(args[2]); err == nil {
		cmd.Path = path
	}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Start())
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[1])); err == nil {
			break
		}
		if time.Now().After(end) {
			cmd.Process.Kill()
			ts.Fatalf("%s did not appear", args[1])
		}
	}
	ts.Check(exec.Command("kill", "-"+args[0], fmt.Sprint(cmd.Process.Pid)).Run())
	cmd.Wait()
	fmt.Fprintf(ts.Stdout(), "exit %d\n", cmd.ProcessState.ExitCode())
}

// leftBehind says what there is in the folder tmp, and which processes have the mark in
// their environment. What is just about to end gets the time to.
func leftBehind(tmp, mark string) string {
	var left string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		left = ""
		if files, _ := filepath.Glob(filepath.Join(tmp, "*")); len(files) > 0 {
			left += fmt.Sprintf("folders left behind: %q\n", files)
		}
		if processes := marked(mark); len(processes) > 0 {
			left += fmt.Sprintf("processes left behind: %q\n", processes)
		}
		if left == "" {
			break
		}
	}
	return left
}

// marked are the command lines of the processes whose environment has
// MOONLAP_TEST_MARK=mark.
func marked(mark string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, _ := os.ReadFile(file)
		if strings.Contains("\x00"+string(env), "\x00MOONLAP_TEST_MARK="+mark+"\x00") {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
