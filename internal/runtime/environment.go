package runtime

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

// Environment is this machine as it is now, and the git commit of the folder that
// holds file ("" is the working folder). What cannot be read is in Missing, with the
// reason.
func Environment(file string) record.Environment {
	e := machine{root: "/"}.environment()
	folder := "."
	if file != "" {
		folder = filepath.Dir(file)
	}
	var err error
	if e.GitCommit, e.GitDirty, err = gitState(folder); err != nil {
		e.Missing["git_commit"] = err.Error()
	}
	return e
}

// A machine is a tree with /proc and /sys; tests make one up.
type machine struct{ root string }

func (m machine) environment() record.Environment {
	e := record.Environment{
		OS: goruntime.GOOS, Arch: goruntime.GOARCH, Cores: goruntime.NumCPU(),
		Missing: map[string]string{},
	}
	missing := func(field string, err error) {
		if err != nil {
			e.Missing[field] = reason(err)
		}
	}
	text := func(field string, to *string, get func() (string, error)) {
		var err error
		*to, err = get()
		missing(field, err)
	}
	text("kernel", &e.Kernel, m.file("proc/sys/kernel/osrelease"))
	text("machine", &e.Machine, m.identity)
	text("cpu", &e.CPU, m.cpu)
	text("governor", &e.Governor, m.governor)
	text("turbo", &e.Turbo, m.turbo)
	text("smt", &e.SMT, m.file("sys/devices/system/cpu/smt/control"))
	text("virtualization", &e.Virtualization, m.virtualization)
	text("clock_source", &e.ClockSource, m.file("sys/devices/system/clocksource/clocksource0/current_clocksource"))
	text("aslr", &e.ASLR, m.aslr)
	text("cpu_quota", &e.CPUQuota, m.cpuQuota)
	var err error
	e.Load, err = m.load()
	missing("load", err)
	e.StealPercent, err = m.steal()
	missing("steal_percent", err)
	e.MemoryBytes, err = m.memory()
	missing("memory_bytes", err)
	return e
}

// reason is an error in plain words, without our path to the file.
func reason(err error) string {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no file " + filepath.Base(path.Path) + " of the kernel's"
	case errors.Is(err, fs.ErrPermission):
		return "not allowed to read " + filepath.Base(path.Path)
	}
	return path.Err.Error()
}

func (m machine) read(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(m.root, name))
	return strings.TrimSpace(string(b)), err
}

func (m machine) file(name string) func() (string, error) {
	return func() (string, error) { return m.read(name) }
}

// cpuinfo is the value of the first of the keys that /proc/cpuinfo has.
func (m machine) cpuinfo(keys ...string) (string, error) {
	text, err := m.read("proc/cpuinfo")
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(line, ":")
			if strings.TrimSpace(name) == key {
				return strings.TrimSpace(value), nil
			}
		}
	}
	return "", fmt.Errorf("/proc/cpuinfo has no %q", keys[0])
}

// identity tells machines apart. The id itself must not leave the machine (machine-id(5)),
// so it keys a hash, as sd_id128_get_machine_app_specific does. Containers often have none.
func (m machine) identity() (string, error) {
	id, err := m.read("etc/machine-id")
	switch {
	case err != nil:
		return "", err
	case id == "" || id == "uninitialized":
		return "", errors.New("machine-id is empty")
	}
	hash := hmac.New(sha256.New, []byte(id))
	hash.Write([]byte("moonlap"))
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

func (m machine) cpu() (string, error) { return m.cpuinfo("model name", "Hardware", "CPU part", "cpu") }

// governor is the CPUs' frequency governor, or all of them where they differ.
func (m machine) governor() (string, error) {
	const one = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
	if _, err := m.read(one); err != nil {
		return "", err
	}
	files, _ := filepath.Glob(filepath.Join(m.root, "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"))
	var all []string
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil {
			all = append(all, strings.TrimSpace(string(b)))
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", "), nil
}

func (m machine) turbo() (string, error) {
	if off, err := m.read("sys/devices/system/cpu/intel_pstate/no_turbo"); err == nil {
		return onOff(off == "0"), nil
	}
	boost, err := m.read("sys/devices/system/cpu/cpufreq/boost")
	if err != nil {
		return "", err
	}
	return onOff(boost == "1"), nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// virtualization is "none", or what the hypervisor calls the machine.
func (m machine) virtualization() (string, error) {
	flags, err := m.cpuinfo("flags")
	if err != nil {
		return "", err // only x86 tells
	}
	if !slices.Contains(strings.Fields(flags), "hypervisor") {
		return "none", nil
	}
	var names []string
	for _, file := range []string{"sys_vendor", "product_name"} {
		if name, err := m.read("sys/class/dmi/id/" + file); err == nil && name != "" {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return strings.Join(names, " "), nil
	}
	if kind, err := m.read("sys/hypervisor/type"); err == nil && kind != "" {
		return kind, nil
	}
	return "unnamed hypervisor", nil
}

// aslr words kernel.randomize_va_space; see proc(5).
func (m machine) aslr() (string, error) {
	value, err := m.read("proc/sys/kernel/randomize_va_space")
	switch {
	case err != nil:
		return "", err
	case value == "0":
		return "off", nil
	case value == "1":
		return "on, but for the heap", nil
	}
	return "on", nil
}

// cpuQuota is the tightest cpu.max of our cgroup and those above it, "quota period" in
// microseconds, or "max" where there's no limit.
func (m machine) cpuQuota() (string, error) {
	groups, err := m.read("proc/self/cgroup")
	if err != nil {
		return "", err
	}
	_, group, unified := strings.Cut("\n"+groups, "\n0::")
	group, _, _ = strings.Cut(group, "\n")
	if _, err := m.read("sys/fs/cgroup/cgroup.controllers"); !unified || err != nil {
		return m.cpuQuotaV1()
	}
	tightest, share := "max", 0.0
	for {
		if limit, err := m.read("sys/fs/cgroup" + filepath.Join("/", group, "cpu.max")); err == nil {
			var quota, period float64
			if n, _ := fmt.Sscan(limit, &quota, &period); n == 2 && (share == 0 || quota/period < share) {
				tightest, share = limit, quota/period
			}
		}
		if group == "/" || group == "" || group == "." {
			return tightest, nil
		}
		group = filepath.Dir(group)
	}
}

func (m machine) cpuQuotaV1() (string, error) {
	quota, err := m.read("sys/fs/cgroup/cpu/cpu.cfs_quota_us")
	if err != nil {
		return "", err
	}
	if quota == "-1" {
		return "max", nil
	}
	period, err := m.read("sys/fs/cgroup/cpu/cpu.cfs_period_us")
	return quota + " " + period, err
}

func (m machine) load() ([]float64, error) {
	text, err := m.read("proc/loadavg")
	if err != nil {
		return nil, err
	}
	var load []float64
	for _, field := range strings.Fields(text)[:min(3, len(strings.Fields(text)))] {
		value, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/loadavg: %q is no number", field)
		}
		load = append(load, value)
	}
	return load, nil
}

// steal is the share of all CPU time since boot that the hypervisor took; see proc(5).
func (m machine) steal() (*float64, error) {
	text, err := m.read("proc/stat")
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	const steal = 8 // after user, nice, system, idle, iowait, irq, softirq
	if len(fields) <= steal || fields[0] != "cpu" {
		return nil, errors.New("/proc/stat has no line for all CPUs")
	}
	var total, stolen float64
	for i, field := range fields[1 : steal+1] {
		value, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/stat: %q is no number", field)
		}
		total += value
		if i+1 == steal {
			stolen = value
		}
	}
	if total == 0 {
		return nil, errors.New("/proc/stat counts nothing")
	}
	percent := 100 * stolen / total
	return &percent, nil
}

func (m machine) memory() (int64, error) {
	text, err := m.read("proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("/proc/meminfo has no MemTotal")
}

// EnvironmentUnder is the machine whose /proc and /sys lie in the folder root, without a
// git commit: "/" is this one, others are made up by tests.
func EnvironmentUnder(root string) record.Environment { return machine{root}.environment() }
