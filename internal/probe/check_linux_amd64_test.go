package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// TestExplain: what a kernel lacks is told apart from what this process lacks.
func TestExplain(t *testing.T) {
	there, before, level, release := filepath.Join(t.TempDir(), "vmlinux"), types, lockdown, kernelRelease
	t.Cleanup(func() { types, lockdown, kernelRelease = before, level, release })
	none := t.TempDir()
	const btf, version = "there is no ", "the oldest one that was tried is 6.1"
	kernelRelease = func() string { return "5.10.0-46-amd64" }
	lockdown = filepath.Join(none, "lockdown")
	refused := &ebpf.VerifierError{Cause: unix.EINVAL, Log: []string{"in-kernel BTF is malformed"}}
	for _, c := range []struct {
		types string
		err   error
		want  string
	}{
		{there, refused, btf + there}, {there, fmt.Errorf("map create: %w", unix.EINVAL), btf + there}, {there, ebpf.ErrNotSupported, btf + there},
		{none, refused, version}, {none, ebpf.ErrNotSupported, version},
		{there, unix.EBUSY, "attach: device or resource busy"},
	} {
		types = c.types
		err := Explain("attach", c.err)
		if len(missing()) > 0 && errors.Is(c.err, ebpf.ErrNotSupported) { // then it is no wonder
			continue
		}
		if !errors.Is(err, ErrUnsupported) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v is %q, which is not about %q", c.err, err, c.want)
		}
	}
	types = none
	kernelRelease = func() string { return "6.1.0-56-amd64" }
	if err := Explain("attach", refused); !strings.Contains(err.Error(), "Linux 6.1.0-56-amd64 refuses") || !errors.Is(err, unix.EINVAL) {
		t.Errorf("a kernel that is new enough: %v", err)
	}
	for content, want := range map[string]bool{"none integrity [confidentiality]\n": true, "none [integrity] confidentiality\n": false} {
		if err := os.WriteFile(lockdown, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Explain("attach", refused)
		if got := strings.Contains(err.Error(), "locked down"); got != want || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", content, err)
		}
	}
	if err := Explain("attach", &ebpf.VerifierError{Cause: unix.EMFILE}); !errors.Is(err, unix.EMFILE) || errors.Is(err, ErrUnsupported) {
		t.Errorf("too many open files, and the machine is blamed: %v", err)
	}
	if Explain("attach", nil) != nil {
		t.Error("nothing is an error")
	}
}
