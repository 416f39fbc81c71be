package probe

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// TestExplain: what a kernel lacks is told apart from what this process lacks.
func TestExplain(t *testing.T) {
	there, before := filepath.Join(t.TempDir(), "vmlinux"), types
	t.Cleanup(func() { types = before })
	none := t.TempDir()
	const btf, version = "there is no ", "it takes Linux 5.18 or newer"
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
		err := explain("attach", c.err)
		if len(missing()) > 0 && errors.Is(c.err, ebpf.ErrNotSupported) { // then it is no wonder
			continue
		}
		if !errors.Is(err, ErrUnsupported) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v is %q, which is not about %q", c.err, err, c.want)
		}
	}
	if err := explain("attach", &ebpf.VerifierError{Cause: unix.EMFILE}); !errors.Is(err, unix.EMFILE) || errors.Is(err, ErrUnsupported) {
		t.Errorf("too many open files, and the machine is blamed: %v", err)
	}
	if explain("attach", nil) != nil {
		t.Error("nothing is an error")
	}
}
