package doctor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/files"
)

// A Setting is the frequency governor of a CPU, which is changed for the time of a command. It names no file: whoever could write
// into the state file would have root write into that.
type Setting struct {
	CPU int    `json:"cpu"`
	Old string `json:"old"`
	New string `json:"new"`
}

// governor is the one that is set.
const governor = "performance"

var governorName = regexp.MustCompile(`^[a-z_]{1,15}$`) // CPUFREQ_NAME_LEN in the kernel's cpufreq.h

// check tells what is no setting that is ever made.
func (s Setting) check() error {
	const mostCPUs = 1 << 16
	if s.CPU < 0 || s.CPU >= mostCPUs || s.New != governor || !governorName.MatchString(s.Old) {
		return fmt.Errorf("%+v is no setting of a governor", s)
	}
	return nil
}

// name is for people.
func (s Setting) name() string { return fmt.Sprintf("governor of cpu%d", s.CPU) }

// file is the setting's file, proc and sys being in the folder root.
func (s Setting) file(root string) string {
	return filepath.Join(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", s.CPU))
}

// A state is what the state file holds while settings are changed: enough to put them back
// when nobody is left to do so.
type state struct {
	Boot     string    `json:"boot"` // the kernel's boot id: a reboot has put all back by itself
	Settings []Setting `json:"settings"`
}

// parseState reads what the state file holds.
func parseState(b []byte) (s state, err error) {
	lines := json.NewDecoder(bytes.NewReader(b))
	lines.DisallowUnknownFields()
	if err := lines.Decode(&s); err != nil {
		return state{}, err
	}
	if lines.More() {
		return state{}, errors.New("something follows it")
	}
	for _, setting := range s.Settings {
		if err := setting.check(); err != nil {
			return state{}, err
		}
	}
	return s, nil
}

var cpuFile = regexp.MustCompile(`/cpu(\d{1,5})/cpufreq/scaling_governor$`)

// Settings are what can be set for a measurement: the governor of each CPU. The reason
// says why there is nothing to set.
func (m Machine) Settings() (settings []Setting, reason string) {
	found, _ := filepath.Glob(filepath.Join(m.Root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	for _, file := range found {
		match := cpuFile.FindStringSubmatch(file)
		if match == nil {
			continue
		}
		old, err := os.ReadFile(file)
		if err != nil {
			return nil, err.Error()
		}
		offered, err := os.ReadFile(filepath.Join(filepath.Dir(file), "scaling_available_governors"))
		if err == nil && !slices.Contains(strings.Fields(string(offered)), governor) {
			return nil, "the driver offers no governor \"performance\""
		}
		s := Setting{Old: strings.TrimSpace(string(old)), New: governor}
		s.CPU, _ = strconv.Atoi(match[1])
		if s.Old != governor && s.check() == nil {
			settings = append(settings, s)
		}
	}
	switch {
	case len(found) == 0:
		return nil, "this machine has no cpufreq"
	case len(settings) == 0:
		return nil, "it is \"performance\" already"
	}
	slices.SortFunc(settings, func(a, b Setting) int { return cmp.Compare(a.CPU, b.CPU) })
	return settings, ""
}

func write(file, value string) error {
	// Not O_CREATE: a file that is gone, as that of a CPU taken out, is not made anew.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value + "\n")
	return errors.Join(err, f.Close())
}

// restore puts a setting back; one that has another value by now was changed by somebody
// else, and is left alone.
func (s Setting) restore(root string) (done string, err error) {
	now, err := os.ReadFile(s.file(root))
	switch value := strings.TrimSpace(string(now)); {
	case errors.Is(err, fs.ErrNotExist):
		return s.name() + " is gone", nil
	case err != nil:
		return "", err
	case value == s.Old:
		return s.name() + " is " + s.Old + " again already", nil
	case value != s.New:
		return fmt.Sprintf("%s is %s, which somebody else has set, and stays so", s.name(), value), nil
	}
	if err := write(s.file(root), s.Old); err != nil {
		return "", fmt.Errorf("%s can't be put back to %s: %w", s.name(), s.Old, err)
	}
	return s.name() + " is " + s.Old + " again", nil
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
// however it ends; the file then stays. A file that another user may have written is refused: root would do what it says.
func lock(file string, more int) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|more, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, &ForeignError{file, "is a link"}
	}
	if err != nil {
		return nil, err
	}
	if err := ours(f); err != nil {
		return nil, errors.Join(err, f.Close())
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

// ours reports that nobody but us, or root, can have written the file.
func ours(f *os.File) error {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return err
	}
	switch {
	case s.Mode&unix.S_IFMT != unix.S_IFREG:
		return &ForeignError{f.Name(), "is no plain file"}
	case s.Uid != 0 && int(s.Uid) != os.Geteuid():
		return &ForeignError{f.Name(), fmt.Sprintf("belongs to user %d", s.Uid)}
	case s.Mode&0o022 != 0:
		return &ForeignError{f.Name(), "may be written by others"}
	case s.Nlink > 1:
		return &ForeignError{f.Name(), "is another file's name, too"}
	}
	return nil
}

// A ForeignError is the error of a state file that somebody else may have written.
type ForeignError struct{ file, why string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %s, so it is ignored: check the governors in /sys/devices/system/cpu, then delete it", e.file, e.why)
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

// mostState is more than the settings of as many CPUs as there may be.
const mostState = 8 << 20

// repair puts back what the locked state file holds and empties it. What fails stays in it.
func repair(f *os.File, root string) (done []string, err error) {
	b, err := io.ReadAll(files.Limit(io.NewSectionReader(f, 0, 1<<62), f.Name(), mostState))
	if err != nil || len(b) == 0 {
		return nil, err
	}
	s, err := parseState(b)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): set the governors yourself, and delete it", f.Name(), err)
	}
	if s.Boot != bootID(root) {
		return []string{"a reboot has put back what an earlier --tune had set"}, put(f, nil)
	}
	var left []Setting
	for _, setting := range slices.Backward(s.Settings) {
		text, failed := setting.restore(root)
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
	f, err := lock(file, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var foreign *ForeignError
	if info, statErr := os.Lstat(file); errors.As(err, &foreign) && statErr == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, nil // another user's, with nothing to put back
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return repair(f, root)
}
