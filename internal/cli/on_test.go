package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
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
	config += fmt.Sprintf("Host *\n IdentityFile %s/user\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n"+
		" LogLevel ERROR\n SendEnv TMPDIR MOONLAP_TEST_*\n", folder)
	write("config", config, 0o600)
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
