package probe

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestUnderFilter: in a container whose profile refuses bpf, the filter is named, not the kernel.
func TestUnderFilter(t *testing.T) {
	if len(missing()) > 0 {
		const why = "the filter is only found out where no capability is missing: run as root"
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	if os.Getenv("MOONLAP_TEST_UNDER_FILTER") != "" {
		refuse(t, unix.SYS_BPF)
		_, err := Open()
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "a seccomp filter") || strings.Contains(err.Error(), "MEMLOCK") {
			t.Fatal(err)
		}
		return
	}
	// A filter stays for the life of a process.
	c := exec.Command(os.Args[0], "-test.run", "^TestUnderFilter$", "-test.v")
	c.Env = append(os.Environ(), "MOONLAP_TEST_UNDER_FILTER=1")
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// refuse has the kernel answer a system call of this process with EPERM, in all its threads.
func refuse(t *testing.T, call uint32) {
	t.Helper()
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number; see seccomp(2)
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	of := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&of)))
	if errno != 0 {
		t.Fatal(errno)
	}
}
