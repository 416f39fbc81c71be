package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A Setting is one file of /sys that is changed for the time of a command.
type Setting struct {
	Name string `json:"name"` // for people: "governor of cpu0"
	File string `json:"file"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// A state is what the state file holds while settings are changed: enough to put them back
// when nobody is left to do so.
type state struct {
	Boot     string    `json:"boot"` // the kernel's boot id: a reboot has put all back by itself
	Settings []Setting `json:"settings"`
}

// Settings are what can be set for a measurement: the governor of each CPU. The reason
// says why there is nothing to set.
func (m Machine) Settings() (settings []Setting, reason string) {
	files, _ := filepath.Glob(filepath.Join(m.Root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	if len(files) == 0 {
		return nil, "this machine has no cpufreq"
	}
	slices.Sort(files)
	for _, file := range files {
		old, err := os.ReadFile(file)
		if err != nil {
			return nil, err.Error()
		}
		offered, err := os.ReadFile(filepath.Join(filepath.Dir(file), "scaling_available_governors"))
		if err == nil && !slices.Contains(strings.Fields(string(offered)), "performance") {
			return nil, "the driver offers no governor \"performance\""
		}
		if s := strings.TrimSpace(string(old)); s != "performance" {
			cpu := filepath.Base(filepath.Dir(filepath.Dir(file)))
			settings = append(settings, Setting{"governor of " + cpu, file, s, "performance"})
		}
	}
	if len(settings) == 0 {
		return nil, "it is \"performance\" already"
	}
	return settings, ""
}

func write(file, value string) error {
	// Not O_CREATE: a file that is gone, as that of a CPU taken out, is not made anew.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value + "\n")
	return errors.Join(err, f.Close())
}

// restore puts a setting back; one that has another value by now was changed by somebody
// else, and is left alone.
func (s Setting) restore() (done string, err error) {
	now, err := os.ReadFile(s.File)
	switch value := strings.TrimSpace(string(now)); {
	case errors.Is(err, fs.ErrNotExist):
		return s.Name + " is gone", nil
	case err != nil:
		return "", err
	case value == s.Old:
		return s.Name + " is " + s.Old + " again already", nil
	case value != s.New:
		return fmt.Sprintf("%s is %s, which somebody else has set, and stays so", s.Name, value), nil
	}
	if err := write(s.File, s.Old); err != nil {
		return "", fmt.Errorf("%s can't be put back to %s: %w", s.Name, s.Old, err)
	}
	return s.Name + " is " + s.Old + " again", nil
}

// StateFile is where the settings to put back are kept: $XDG_DATA_HOME/moonlap/tuned.json.
func StateFile(getenv func(string) string) (string, error) {
	folder := getenv("XDG_DATA_HOME")
	if folder == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New("neither XDG_DATA_HOME nor HOME says where to keep what is to be put back")
		}
		folder = filepath.Join(home, ".local/share")
	}
	return filepath.Join(folder, "moonlap", "tuned.json"), nil
}

// ErrBusy says that another moonlap has tuned this machine and still runs.
var ErrBusy = errors.New("another 'moonlap doctor --tune' is at work on this machine")

// lock opens the state file for one process alone. The lock ends with that process,
// however it ends; the file then stays.
func lock(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return f, nil
}

// put replaces what the state file holds, on the disk as well.
func put(f *os.File, s *state) error {
	var b []byte
	if s != nil {
		var err error
		if b, err = json.Marshal(s); err != nil {
			return err
		}
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Sync()
}

// bootID is the kernel's name for the time since it started.
func bootID(root string) string {
	b, _ := os.ReadFile(filepath.Join(root, "proc/sys/kernel/random/boot_id"))
	return strings.TrimSpace(string(b))
}

// repair puts back what the locked state file holds and empties it. What fails stays in it.
func repair(f *os.File, root string) (done []string, err error) {
	b, err := os.ReadFile(f.Name())
	if err != nil || len(b) == 0 {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): set the governors yourself, and delete it", f.Name(), err)
	}
	if s.Boot != bootID(root) {
		return []string{"a reboot has put back what an earlier --tune had set"}, put(f, nil)
	}
	var left []Setting
	for _, setting := range slices.Backward(s.Settings) {
		text, failed := setting.restore()
		if failed != nil {
			left = append(left, setting)
			err = errors.Join(err, failed)
			continue
		}
		done = append(done, text)
	}
	if len(left) > 0 {
		slices.Reverse(left)
		return done, errors.Join(err, put(f, &state{s.Boot, left}))
	}
	return done, put(f, nil)
}

// Repair puts back what a --tune left that nobody could tidy up after: a power cut, or a
// guardian that was killed too. It returns what was done, in words; [ErrBusy] where another
// moonlap is still at work.
func Repair(file, root string) ([]string, error) {
	f, err := lock(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return repair(f, root)
}
