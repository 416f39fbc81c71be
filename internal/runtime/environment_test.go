package runtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/moonlap/moonlap/internal/record"
)

// tree makes a machine of files.
func tree(t *testing.T, files map[string]string) machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine{root}
}

var thisMachine = cmpopts.IgnoreFields(record.Environment{}, "OS", "Arch", "Cores")

func TestEnvironment(t *testing.T) {
	percent := 12.5
	got := tree(t, map[string]string{
		"etc/machine-id":                     "0123456789abcdef0123456789abcdef\n",
		"proc/sys/kernel/osrelease":          "6.1.0-18-amd64\n",
		"proc/sys/kernel/randomize_va_space": "2\n",
		"proc/cpuinfo":                       "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu hypervisor sse\n",
		"proc/loadavg":                       "0.50 1.25 2.00 1/89 5613\n",
		"proc/stat":                          "cpu  100 0 50 600 100 10 15 125 7 0\ncpu0 1 2\n",
		"proc/meminfo":                       "MemTotal:        2048 kB\nMemFree: 1 kB\n",
		"proc/self/cgroup":                   "0::/a/b\n",
		"sys/fs/cgroup/cgroup.controllers":   "cpu\n",
		"sys/fs/cgroup/a/cpu.max":            "150000 100000\n",
		"sys/fs/cgroup/a/b/cpu.max":          "max 100000\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":            "performance\n",
		"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor":            "performance\n",
		"sys/devices/system/cpu/intel_pstate/no_turbo":                    "1\n",
		"sys/devices/system/cpu/smt/control":                              "on\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/class/dmi/id/sys_vendor":                                     "QEMU\n",
		"sys/class/dmi/id/product_name":                                   "Standard PC\n",
	}).environment()
	want := record.Environment{
		Machine: "8352d2b42bde888b",
		Kernel:  "6.1.0-18-amd64", CPU: "Xeon", Governor: "performance, powersave", Turbo: "off",
		SMT: "on", Virtualization: "QEMU Standard PC", ClockSource: "tsc", ASLR: "on",
		Load: []float64{0.5, 1.25, 2}, StealPercent: &percent, CPUQuota: "150000 100000",
		MemoryBytes: 2 << 20, Missing: map[string]string{},
	}
	if diff := cmp.Diff(want, got, thisMachine); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentOfAnotherKind(t *testing.T) {
	got := tree(t, map[string]string{
		"proc/cpuinfo":                         "processor : 0\nCPU part : 0xd0c\n",
		"proc/sys/kernel/randomize_va_space":   "0",
		"proc/self/cgroup":                     "4:cpu,cpuacct:/\n",
		"sys/fs/cgroup/cpu/cpu.cfs_quota_us":   "-1\n",
		"sys/devices/system/cpu/cpufreq/boost": "1\n",
	}).environment()
	if got.CPU != "0xd0c" || got.ASLR != "off" || got.CPUQuota != "max" || got.Turbo != "on" {
		t.Errorf("got %+v", got)
	}
}

// Nothing that is missing is silently empty.
func TestEnvironmentMissing(t *testing.T) {
	got := tree(t, nil).environment()
	want := []string{"kernel", "machine", "cpu", "governor", "turbo", "smt", "virtualization", "clock_source",
		"aslr", "load", "steal_percent", "cpu_quota", "memory_bytes"}
	for _, field := range want {
		if why := got.Missing[field]; why == "" || strings.Contains(why, t.Name()) {
			t.Errorf("%s: missing because %q", field, why)
		}
	}
	if len(got.Missing) != len(want) {
		t.Errorf("missing: %v", got.Missing)
	}
}

func TestEnvironmentSpoilt(t *testing.T) {
	got := tree(t, map[string]string{
		"proc/loadavg": "x y z", "proc/stat": "cpu a b c d e f g h", "proc/meminfo": "MemTotal: many kB",
	}).environment()
	for _, field := range []string{"load", "steal_percent", "memory_bytes"} {
		if got.Missing[field] == "" {
			t.Errorf("%s was read from nonsense: %+v", field, got)
		}
	}
}

func TestEnvironmentOfThisMachine(t *testing.T) {
	got := Environment("")
	if got.Kernel == "" || got.Cores == 0 || got.MemoryBytes == 0 || len(got.Load) != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestGitState(t *testing.T) {
	defer func(d time.Duration) { gitTimeout = d }(gitTimeout)
	gitTimeout = time.Minute // what is tested is what git says, not how busy this machine is
	folder := t.TempDir()
	if _, _, err := gitState(folder); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("outside of a repository: %v", err)
	}
	file := filepath.Join(folder, "a.lua")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."},
		{"-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "m"},
	} {
		cmd := exec.Command("git", append([]string{"-C", folder}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	commit, dirty, err := gitState(folder)
	if len(commit) != 40 || dirty || err != nil {
		t.Errorf("clean: %q %v %v", commit, dirty, err)
	}
	write("2")
	if same, dirty, err := gitState(folder); same != commit || !dirty || err != nil {
		t.Errorf("changed: %q %v %v", same, dirty, err)
	}
	t.Setenv("PATH", "")
	if _, _, err := gitState(folder); err == nil || err.Error() != "git is not installed" {
		t.Errorf("without git: %v", err)
	}
}
