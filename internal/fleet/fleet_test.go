package fleet

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStale: what a killed run left goes; what a run holds, what is new, and what is not ours stays.
func TestStale(t *testing.T) {
	among := t.TempDir()
	made := func(name string, age time.Duration) string {
		folder := filepath.Join(among, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(folder, then, then); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	left, held := made(prefix+"left", time.Hour), made(prefix+"held", time.Hour)
	fresh, other := made(prefix+"fresh", 0), made("other", time.Hour)
	lock, err := own(held)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	removeStale(among)
	for folder, want := range map[string]bool{left: false, held: true, fresh: true, other: true} {
		if _, err := os.Stat(folder); (err == nil) != want {
			t.Errorf("%s: there is %v, want %v", filepath.Base(folder), err == nil, want)
		}
	}
}

func TestHosts(t *testing.T) {
	for on, want := range map[string]int{
		"ssh:a": 1, "ssh:a,b@c": 2, "slurm": 2, "slurm:nodes=3,partition=x,wait=5s": 3,
		"ssh:": 0, "ssh:a,": 0, "ssh:a,a": 0, "ssh:-x": 0, "rsh:a": 0, "": 0,
		"slurm:nodes=0": 0, "slurm:nodes=x": 0, "slurm:wait=soon": 0, "slurm:--x": 0,
	} {
		hosts, err := Hosts(on)
		if len(hosts) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d hosts, %v; want %d", on, len(hosts), err, want)
		}
	}
	hosts, _ := Hosts("slurm:nodes=1,partition=x")
	if command := strings.Join(hosts[0].Shell("true"), " "); !strings.Contains(command, " --partition=x ") {
		t.Errorf("srun's option is lost: %s", command)
	}
}

// TestReason reads what two versions of squeue print.
func TestReason(t *testing.T) {
	for _, state := range []string{`"PENDING"`, `["PENDING"]`} {
		list := `{"meta":{},"jobs":[{"job_id":6,"name":"other"},{"job_id":7,"name":"mine","job_state":` + state + `,"state_reason":"Resources"}]}`
		if got := reason([]byte(list), "mine"); got != "job 7 is pending, Resources" {
			t.Errorf("%s: %q", state, got)
		}
	}
	if got := reason([]byte("no JSON"), "mine"); got != "" {
		t.Errorf("of what is no JSON: %q", got)
	}
}

// TestScript: ssh puts the script between single quotes, and hands it to the user's shell, which may be csh.
func TestScript(t *testing.T) {
	if strings.ContainsAny(script(1, 1, Silence), "'!\n") {
		t.Error("the script has what some shell minds")
	}
}

// TestFolder: where the folder for temporary files runs no programs, is full or is none, another one serves; where none does, each is named.
func TestFolder(t *testing.T) {
	var program bytes.Buffer
	zip := gzip.NewWriter(&program)
	io.WriteString(zip, "#!/bin/sh\necho served in $2\n")
	zip.Close()
	missing := filepath.Join(t.TempDir(), "missing")
	tests := map[string]struct{ tmp, before, want string }{
		"as it should be": {t.TempDir(), "", "served in $TMPDIR/"},
		"missing":         {missing, "", "served in /"},
		"noexec":          {t.TempDir(), "mount -t tmpfs -o noexec none $TMPDIR; ", "served in /"},
		"read-only":       {t.TempDir(), "mount -t tmpfs -o ro none $TMPDIR; ", "served in /"},
		"full":            {t.TempDir(), "mount -t tmpfs -o size=16k none $TMPDIR; ", "served in /"},
		"no df":           {t.TempDir(), "df() { return 127; }; ", "served in $TMPDIR/"},
		"none":            {missing, "mktemp() { return 1; }; ", "no folder here takes the program; $TMPDIR cannot be written; /tmp cannot be written; /var/tmp cannot"},
		"none has room":   {t.TempDir(), "df() { echo; echo a 9 9 3 9 b; }; ", "no folder here takes the program; $TMPDIR has no room for 64 kB; /tmp has no room"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(test.before, "mount") && (os.Getuid() != 0 || exec.Command("unshare", "-m", "true").Run() != nil) {
				t.Skip("it takes root, and namespaces of mounts")
			}
			cmd := exec.Command("sh", "-c", test.before+script(program.Len(), 64<<10, Silence))
			if strings.HasPrefix(test.before, "mount") {
				cmd = exec.Command("unshare", append([]string{"-m"}, cmd.Args...)...)
			}
			home := t.TempDir()
			cmd.Env, cmd.Stdin = append(os.Environ(), "TMPDIR="+test.tmp, "HOME="+home), bytes.NewReader(program.Bytes())
			said, err := cmd.CombinedOutput()
			want := strings.ReplaceAll(test.want, "$TMPDIR", test.tmp)
			elsewhere := !strings.Contains(test.want, "$TMPDIR") && strings.Contains(string(said), test.tmp+"/")
			if !strings.Contains(string(said), want) || elsewhere || (err == nil) != strings.HasPrefix(want, "served") {
				t.Errorf("%v: %s\nwant %s", err, said, want)
			}
			for _, folder := range []string{test.tmp, home} {
				if left, _ := os.ReadDir(folder); len(left) > 0 {
					t.Errorf("%v stays", left)
				}
			}
		})
	}
}

// TestOtherHosts: a host whose processor is another one, that has no room or lacks a program says so, and keeps nothing.
func TestOtherHosts(t *testing.T) {
	commands := map[string]string{ // that stand in for the host's own
		"other processor": "uname() { echo sparc; }; ",
		"no room":         "gzip() { cat >/dev/null; echo gzip: stdout: No space left on device >&2; return 1; }; ",
		"no gzip":         "gzip() { echo gzip: not found >&2; return 127; }; ",
		"no exec":         "gzip() { echo; }; ", // what arrives is no program
	}
	wants := map[string]string{
		"other processor": "the moonlap that travels is for Linux on", "no room": "No space left", "no gzip": "not found", "no exec": "",
	}
	for name, command := range commands {
		folder := t.TempDir()
		cmd := exec.Command("sh", "-c", command+script(3, 1, Silence))
		cmd.Env, cmd.Stdin = append(os.Environ(), "TMPDIR="+folder), strings.NewReader("abc")
		said, err := cmd.CombinedOutput()
		left, _ := os.ReadDir(folder)
		if err == nil && name != "no exec" || !strings.Contains(string(said), wants[name]) || len(left) > 0 {
			t.Errorf("%s: it ends with %v, leaves %v and says %s", name, err, left, said)
		}
	}
}

// TestGone: a host that was made ready and then hears no more runs nothing, and removes its folder.
func TestGone(t *testing.T) {
	here := t.TempDir()
	if err := os.WriteFile(filepath.Join(here, "bench.lua"), []byte("return 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	load, err := Carry(here, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var archive, out bytes.Buffer
	if err := load.Pack(&archive); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(order{Dir: load.Dir, Archive: int64(archive.Len())})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), prefix+"test")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = Serve(t.Context(), io.MultiReader(bytes.NewReader(append(line, '\n')), &archive), &out, io.Discard, folder)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(out.String(), ready) {
		t.Errorf("it says %q and ends with %v", out.String(), err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("its folder is still there")
	}
}
