package process

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Mapping is one line of /proc/PID/maps: the addresses [Start, End) show a file from Offset on,
// or are anonymous.
type Mapping struct {
	Start, End, Offset uint64
	Executable         bool
	Writable           bool
	Device             string // "fd:01"
	Inode              uint64 // 0: anonymous
	Path               string // "", "[stack]", or a file, maybe with " (deleted)" behind it
}

// Deleted reports that the mapped file is no more, as after an upgrade of its package.
func (m Mapping) Deleted() bool { return strings.HasSuffix(m.Path, " (deleted)") }

// readMaps reads the format of /proc/PID/maps (proc_pid_maps(5)).
func readMaps(from io.Reader) ([]Mapping, error) {
	var all []Mapping
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		m, err := parseMapping(lines.Text())
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, lines.Err()
}

func parseMapping(line string) (Mapping, error) {
	bad := func() (Mapping, error) { return Mapping{}, fmt.Errorf("not a mapping: %q", line) }
	// Five fields, then the path, which may hold blanks itself.
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 5 || len(fields[1]) < 4 {
		return bad()
	}
	from, to, ok := strings.Cut(fields[0], "-")
	if !ok {
		return bad()
	}
	m := Mapping{
		Writable:   fields[1][1] == 'w',
		Executable: fields[1][2] == 'x',
		Device:     fields[3],
	}
	if len(fields) == 6 {
		m.Path = strings.TrimLeft(fields[5], " ")
	}
	var errs [4]error
	m.Start, errs[0] = strconv.ParseUint(from, 16, 64)
	m.End, errs[1] = strconv.ParseUint(to, 16, 64)
	m.Offset, errs[2] = strconv.ParseUint(fields[2], 16, 64)
	m.Inode, errs[3] = strconv.ParseUint(fields[4], 10, 64)
	for _, err := range errs {
		if err != nil {
			return bad()
		}
	}
	if m.End <= m.Start {
		return bad()
	}
	return m, nil
}
