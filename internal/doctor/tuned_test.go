package doctor

import (
	"os"
	"path/filepath"
	"strings"
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

// What can't be put back stays in the state file; what can is put back all the same.
func TestRepair(t *testing.T) {
	root := t.TempDir()
	folder, file := filepath.Join(root, "is a folder"), filepath.Join(root, "governor")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("performance\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stateFile := filepath.Join(root, "data/moonlap/tuned.json")
	f, err := openState(stateFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(stateFile, root); err != ErrBusy {
		t.Errorf("while another has it: %v", err)
	}
	err = put(f, &state{"", []Setting{{"one", folder, "a", "performance"}, {"two", file, "powersave", "performance"},
		{"three", filepath.Join(root, "gone"), "x", "y"}}})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()

	done, err := Repair(stateFile, root)
	if diff := cmp.Diff([]string{"three is gone", "two is powersave again"}, done); err == nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if b, _ := os.ReadFile(file); string(b) != "powersave\n" {
		t.Errorf("the governor is %q", b)
	}
	if b, _ := os.ReadFile(stateFile); !strings.Contains(string(b), `"one"`) || strings.Contains(string(b), `"two"`) {
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
