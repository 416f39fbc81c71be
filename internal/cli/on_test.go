package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonlap/moonlap/internal/fleet"
)

// haveSSHD reports whether there is an ssh server to start. With MOONLAP_TEST_REQUIRE_ALL set there must be.
func haveSSHD(t *testing.T) (bool, error) {
	for _, program := range []string{"/usr/sbin/sshd", "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
				return false, err
			}
			t.Logf("not tested: %v", err)
			return false, nil
		}
	}
	return true, nil
}

// sshServer starts an ssh server of the script's own on a loopback port, and puts an ssh on the PATH that knows it by
// several names: sshd NAME… One more, closed, is a host where nothing answers.
func sshServer(ts *testscript.TestScript, neg bool, names []string) {
	folder := ts.MkAbs(".ssh")
	ts.Check(os.MkdirAll(filepath.Join(folder, "bin"), 0o700))
	freePort(ts, false, []string{"SSHPORT"})
	port := ts.Getenv("SSHPORT")
	write := func(name, text string, mode os.FileMode) {
		ts.Check(os.WriteFile(filepath.Join(folder, name), []byte(text), mode))
	}
	for _, key := range []string{"host", "user"} {
		ts.Check(ts.Exec("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(folder, key)))
	}
	public, err := os.ReadFile(filepath.Join(folder, "user.pub"))
	ts.Check(err)
	write("authorized", string(public), 0o600)
	os.MkdirAll("/run/sshd", 0o755) // where sshd runs as root it wants this
	write("sshd_config", fmt.Sprintf("ListenAddress 127.0.0.1:%s\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\n"+
		"StrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\nAcceptEnv MOONLAP_* TMPDIR\n", port, folder, folder), 0o600)
	config := "Host closed\n HostName 127.0.0.1\n Port 1\n"
	for _, name := range names {
		config += fmt.Sprintf("Host %s\n HostName 127.0.0.1\n Port %s\n", name, port)
	}
	common := fmt.Sprintf("Host *\n IdentityFile %s/user\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n"+
		" LogLevel ERROR\n SendEnv TMPDIR MOONLAP_TEST_*\n", folder)
	write("common", common, 0o600)
	write("config", config+common, 0o600)
	write("bin/ssh", fmt.Sprintf("#!/bin/sh\nexec /usr/bin/ssh -F %s/config \"$@\"\n", folder), 0o700)
	ts.Setenv("PATH", filepath.Join(folder, "bin")+string(os.PathListSeparator)+ts.Getenv("PATH"))

	server := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(folder, "sshd_config"))
	log, err := os.Create(filepath.Join(folder, "log"))
	ts.Check(err)
	server.Stderr = log
	ts.Check(server.Start())
	ts.Defer(func() {
		server.Process.Kill()
		server.Wait()
		log.Close()
	})
	for range 200 { // until it answers; each try is an ssh of its own
		if exec.Command(filepath.Join(folder, "bin/ssh"), "-o", "BatchMode=yes", names[0], "true").Run() == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	text, _ := os.ReadFile(filepath.Join(folder, "log"))
	ts.Fatalf("the ssh server does not answer: %s", text)
}

// webServer is the script command `webserver NAME`: an HTTP server on loopback, that takes 50 ms to answer /slow; NAME
// becomes its address.
func webServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: webserver NAME")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(50 * time.Millisecond)
		}
		io.WriteString(w, "ok")
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// haveSlurm reports whether a cluster can be started here: by root, with Slurm's and munge's daemons.
func haveSlurm(t *testing.T) (bool, error) {
	var missing error
	for _, program := range []string{"/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "srun"} {
		_, err := exec.LookPath(program)
		missing = errors.Join(missing, err)
	}
	if missing == nil && os.Getuid() != 0 {
		missing = errors.New("slurmd wants root")
	}
	if missing != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Logf("not tested: %v", missing)
		return false, nil
	}
	return missing == nil, missing
}

// slurmCluster starts a cluster of the script's own: slurm [N], two nodes or N, all this machine.
func slurmCluster(ts *testscript.TestScript, neg bool, args []string) {
	folder, err := os.MkdirTemp("", "slurm") // a socket's path is short
	ts.Check(err)
	ts.Check(os.Chmod(folder, 0o755))
	ts.Defer(func() { os.RemoveAll(folder) })
	ts.Check(os.WriteFile(filepath.Join(folder, "key"), []byte(rand.Text()+rand.Text()), 0o400))
	nodes := 2
	if len(args) > 0 {
		nodes, err = strconv.Atoi(args[0])
		ts.Check(err)
	}
	ports := make([]string, 1+nodes)
	for i := range ports {
		freePort(ts, false, []string{"SLURMPORT"})
		ports[i] = ts.Getenv("SLURMPORT")
	}
	hostname, err := os.Hostname()
	ts.Check(err)
	lines := ""
	for i, port := range ports[1:] {
		lines += fmt.Sprintf("NodeName=n%d NodeAddr=127.0.0.1 NodeHostname=%s Port=%s CPUs=1\n", i+1, hostname, port)
	}
	conf := filepath.Join(folder, "slurm.conf")
	ts.Check(os.WriteFile(conf, []byte(strings.NewReplacer("FOLDER", folder, "NODELINES", lines, "NODES", fmt.Sprintf("n[1-%d]", nodes), "PORT", ports[0]).Replace(`
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=PORT
SlurmUser=root
AuthInfo=socket=FOLDER/munge.sock
StateSaveLocation=FOLDER/state
SlurmdSpoolDir=FOLDER/spool-%n
SlurmctldPidFile=FOLDER/slurmctld.pid
SlurmdPidFile=FOLDER/slurmd-%n.pid
SlurmctldLogFile=FOLDER/slurmctld.log
SlurmdLogFile=FOLDER/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
NODELINES
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=main Nodes=NODES Default=YES MaxTime=10 PriorityTier=1 State=UP
PartitionName=urgent Nodes=NODES MaxTime=10 PriorityTier=9 State=UP
`)), 0o644))
	ts.Setenv("SLURM_CONF", conf)
	start := func(program string, args ...string) {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
		log, err := os.Create(filepath.Join(folder, filepath.Base(program)+".out"))
		ts.Check(err)
		cmd.Stdout, cmd.Stderr = log, log
		ts.Check(cmd.Start())
		ts.Defer(func() {
			cmd.Process.Signal(syscall.SIGTERM)
			time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
			cmd.Wait()
			log.Close()
		})
	}
	start("/usr/sbin/munged", "--foreground", "--force", "--key-file="+folder+"/key", "--socket="+folder+"/munge.sock",
		"--pid-file="+folder+"/munged.pid", "--log-file="+folder+"/munged.log", "--seed-file="+folder+"/seed")
	start("/usr/sbin/slurmctld", "-D", "-f", conf)
	for i := range nodes {
		start("/usr/sbin/slurmd", "-D", "-f", conf, "-N", fmt.Sprintf("n%d", i+1))
	}
	for range 600 {
		cmd := exec.Command("sinfo", "-h", "-o", "%T %D")
		cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
		if out, err := cmd.Output(); err == nil && strings.TrimSpace(string(out)) == fmt.Sprintf("idle %d", nodes) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("the cluster does not become idle; see %s", folder)
}

// TestRecordOfEach: hosts whose names become the same name of a file have records of their own.
func TestRecordOfEach(t *testing.T) {
	list, err := fleet.Hosts("ssh:a:b,a_b,a/b,a_b-2")
	if err != nil {
		t.Fatal(err)
	}
	w, err := newHostWatcher(RealSys(), list, filepath.Join(t.TempDir(), "today.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	var names []string
	for _, h := range w.hosts {
		names = append(names, filepath.Base(h.path))
	}
	if want := []string{"today.a_b.jsonl", "today.a_b-2.jsonl", "today.a_b-3.jsonl", "today.a_b-2-2.jsonl"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func TestHostNames(t *testing.T) {
	tests := []struct{ paths, want []string }{
		{[]string{"today.web1.jsonl", "today.web2.jsonl"}, []string{"web1", "web2"}},
		{[]string{"a.jsonl", "b.jsonl"}, []string{"a", "b"}},
		{[]string{"x/today.jsonl", "y/today.jsonl"}, []string{"x", "y"}},
		{[]string{"today.jsonl", "today.b.jsonl"}, []string{"today.jsonl", "today.b.jsonl"}},
		{[]string{"same", "same"}, []string{"same", "same"}},
	}
	for _, test := range tests {
		if got := hostNames(test.paths); !slices.Equal(got, test.want) {
			t.Errorf("hostNames(%q) = %q, want %q", test.paths, got, test.want)
		}
	}
}
