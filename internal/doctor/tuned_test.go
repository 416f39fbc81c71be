package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{"1": {1}, "0,2-4": {0, 2, 3, 4}, "3-3": {3}} {
		got, err := ParseCPUs(list)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("ParseCPUs(%q): %v\n%s", list, err, diff)
		}
	}
	for _, bad := range []string{"", "x", "1-", "-1", "4-2", "1,", "99999", "0-99999999"} {
		if got, err := ParseCPUs(bad); err == nil {
			t.Errorf("ParseCPUs(%q) = %v, want an error", bad, got)
		}
	}
}

func TestInterrupts(t *testing.T) {
	root := t.TempDir()
	write := func(text string) {
		if err := os.MkdirAll(filepath.Join(root, "proc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "proc/interrupts"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// CPU 1 is out; LOC and the like are not devices'.
	write("           CPU0       CPU2\n  1:   10    2   IO-APIC 1-edge\n 24:   5   7  PCI 8\n NMI:  9 9  x\nERR: 3\n 30:\n\n")
	got, err := Machine{Root: root}.interrupts()
	if diff := cmp.Diff([]int64{15, 0, 9}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"CPU0 CPUx\n", "a b\n", "CPU99999999 \n"} {
		write(bad)
		if got, err := (Machine{Root: root}).interrupts(); err == nil {
			t.Errorf("%q: %v, want an error", bad, got)
		}
	}
}

// machineOf makes a folder with the governors of CPUs 0, 1, …; "" is a folder in the place of the file, which cannot be written.
func machineOf(t *testing.T, governors ...string) (root string, file func(cpu int) string) {
	t.Helper()
	root = t.TempDir()
	file = func(cpu int) string { return Setting{CPU: cpu}.file(root) }
	for cpu, g := range governors {
		err := os.MkdirAll(filepath.Dir(file(cpu)), 0o755)
		if g == "" {
			err = errors.Join(err, os.Mkdir(file(cpu), 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(file(cpu), []byte(g+"\n"), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root, file
}

// What can't be put back stays in the state file; what can is put back all the same.
func TestRepair(t *testing.T) {
	root, governorOf := machineOf(t, "", "performance")
	stateFile := filepath.Join(root, "data/moonlap/tuned.json")
	f, err := openState(stateFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(stateFile, root); err != ErrBusy {
		t.Errorf("while another has it: %v", err)
	}
	err = put(f, &state{"", []Setting{{0, "ondemand", governor}, {1, "powersave", governor}, {7, "powersave", governor}}})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()

	done, err := Repair(stateFile, root)
	if diff := cmp.Diff([]string{"governor of cpu7 is gone", "governor of cpu1 is powersave again"}, done); err == nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if b, _ := os.ReadFile(governorOf(1)); string(b) != "powersave\n" {
		t.Errorf("the governor is %q", b)
	}
	if b, _ := os.ReadFile(stateFile); !strings.Contains(string(b), `"ondemand"`) || strings.Contains(string(b), `"powersave"`) {
		t.Errorf("the state file holds %s", b)
	}

	// After a reboot nothing of it matters.
	boot := filepath.Join(root, "proc/sys/kernel/random/boot_id")
	if err := os.MkdirAll(filepath.Dir(boot), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(boot, []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if done, err := Repair(stateFile, root); err != nil || len(done) != 1 {
		t.Errorf("after a reboot: %q, %v", done, err)
	}
	if done, err := Repair(stateFile, root); err != nil || done != nil {
		t.Errorf("with nothing to do: %q, %v", done, err)
	}

	if err := os.WriteFile(stateFile, []byte("{damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(stateFile, root); err == nil || !strings.Contains(err.Error(), "tuned.json is damaged") {
		t.Errorf("damaged: %v", err)
	}
}

// A state file names what root writes: whatever else than a governor it names is left alone, and so is one that another user may
// have written.
func TestRepairHostile(t *testing.T) {
	root, governorOf := machineOf(t, "performance")
	victim := filepath.Join(root, "victim")
	stateFile := filepath.Join(root, "tuned.json")
	plant := func(text string, mode os.FileMode) {
		os.Remove(stateFile)
		if err := errors.Join(os.WriteFile(victim, []byte("performance\n"), 0o600), os.WriteFile(stateFile, []byte(text), 0o600), os.Chmod(stateFile, mode)); err != nil {
			t.Fatal(err)
		}
	}
	const sound = `{"boot":"","settings":[{"cpu":0,"old":"powersave","new":"performance"}]}`
	refused := func(what, want string) {
		t.Helper()
		done, err := Repair(stateFile, root)
		if err == nil || !strings.Contains(err.Error(), want) || len(done) > 0 {
			t.Errorf("%s: %q, %v", what, done, err)
		}
		for _, file := range []string{victim, governorOf(0)} {
			if b, _ := os.ReadFile(file); string(b) != "performance\n" {
				t.Errorf("%s: %s holds %q", what, file, b)
			}
		}
	}
	for _, bad := range []string{
		`{"boot":"","settings":[{"name":"x","file":"` + victim + `","old":"evil","new":"performance"}]}`,
		`{"boot":"","settings":[{"cpu":0,"old":"../../x","new":"performance"}]}`,
		`{"boot":"","settings":[{"cpu":0,"old":"a\nb","new":"performance"}]}`,
		`{"boot":"","settings":[{"cpu":-1,"old":"powersave","new":"performance"}]}`,
		`{"boot":"","settings":[{"cpu":0,"old":"powersave","new":"anything"}]}`,
		sound + sound,
		strings.Repeat(" ", mostState) + sound,
	} {
		plant(bad, 0o600)
		refused(bad[:min(len(bad), 80)], "tuned.json")
	}
	plant(sound, 0o620)
	refused("group may write", "may be written by others")
	plant(sound, 0o600)
	if err := os.Link(stateFile, filepath.Join(root, "another")); err != nil {
		t.Fatal(err)
	}
	refused("a hard link", "another file's name")
	if err := errors.Join(os.Rename(stateFile, stateFile+".far"), os.Symlink(stateFile+".far", stateFile)); err != nil {
		t.Fatal(err)
	}
	refused("a link", "is a link")
	if err := errors.Join(os.Remove(stateFile), syscall.Mkfifo(stateFile, 0o600)); err != nil {
		t.Fatal(err)
	}
	refused("a pipe", "is no plain file")

	if os.Geteuid() == 0 {
		plant(sound, 0o600)
		if err := os.Chown(stateFile, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		refused("another user's", "belongs to user 65534")
		if err := os.Truncate(stateFile, 0); err != nil {
			t.Fatal(err)
		}
		if done, err := Repair(stateFile, root); done != nil || err != nil {
			t.Errorf("another user's, empty: %q, %v", done, err)
		}
	}
	plant(sound, 0o600)
	if done, err := Repair(stateFile, root); len(done) != 1 || err != nil {
		t.Errorf("our own: %q, %v", done, err)
	}
}

// FuzzState: whatever the state file holds, no other file than a CPU's governor is named, and nothing but a governor's name is
// written into it.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"boot":"b","settings":[{"cpu":0,"old":"powersave","new":"performance"}]}`))
	f.Add([]byte(`{"settings":[{"cpu":1e9,"old":"../..","new":"performance"}]}`))
	f.Add([]byte(`{"boot":"","settings":[{"name":"x","file":"/etc/passwd","old":"evil","new":"performance"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseState(b)
		if err != nil {
			return
		}
		for _, setting := range s.Settings {
			if !cpuFile.MatchString(setting.file("/")) || strings.ContainsAny(setting.Old, " /.\n") || setting.New != governor {
				t.Fatalf("%+v", setting)
			}
		}
	})
}

func FuzzParseCPUs(f *testing.F) {
	for _, list := range []string{"0,2-4", "1-", "-1", "1023-1023", "99999999999999999999-1", ",", "0-1023,0-1023"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := ParseCPUs(list)
		for _, cpu := range cpus {
			if err == nil && (cpu < 0 || cpu >= 1024) {
				t.Fatalf("%q: CPU %d", list, cpu)
			}
		}
	})
}
