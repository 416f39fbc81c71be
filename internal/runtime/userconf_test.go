package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestUserConf: @FILE includes a plain file. A pipe, which nginx would wait for, and a device are refused.
func TestUserConf(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain.conf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := userConf("--http-conf", dir, []string{"a b;", "@plain.conf", "@missing.conf"})
	if err != nil || len(got) != 3 || got[0] != "a b;" || got[1] != `include "`+filepath.Join(dir, "plain.conf")+`";` {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"@pipe", "@/dev/zero", "@."} {
		if _, err := userConf("--http-conf", dir, []string{bad}); err == nil || !strings.Contains(err.Error(), "is no plain file") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
