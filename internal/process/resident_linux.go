package process

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of linux/fs.h: the ioctl PAGEMAP_SCAN of Linux 6.7, which goes by the page tables and so skips what is not
// there in steps of up to 512 GB.
const (
	pagemapScan     = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)
	categoryPresent = 1 << 3
	categorySwapped = 1 << 4
)

type scanArguments struct {
	size, flags, start, end, walkEnd                            uint64
	vector, vectorLength, maxPages                              uint64
	categoryInverted, categoryMask, categoryAnyof, returnedMask uint64
}

type scanRegion struct{ start, end, categories uint64 }

// scanPages adds the pages of a mapping that are there.
func scanPages(f *os.File, m Mapping, l *pageList, more func() bool) error {
	const both = categoryPresent | categorySwapped
	var regions [512]scanRegion
	for at := m.Start; at < m.End && more(); {
		// A step is so small that the clock is asked in time, and that the process can change its mappings between
		// two: a page takes some nanoseconds.
		a := scanArguments{
			start: at, end: m.End, vector: uint64(uintptr(unsafe.Pointer(&regions[0]))), vectorLength: uint64(len(regions)),
			maxPages: 1 << 16, categoryAnyof: both, returnedMask: both,
		}
		a.size = uint64(unsafe.Sizeof(a))
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScan, uintptr(unsafe.Pointer(&a)))
		switch errno {
		case 0:
		case unix.EINTR:
			continue
		case unix.ENOTTY, unix.EINVAL, unix.ENOSYS, unix.EPERM: // an older kernel, or a filter of system calls
			return errNoScan
		default:
			return errno
		}
		for _, r := range regions[:n] {
			l.add(r.start, r.end, r.categories&categorySwapped != 0)
		}
		if a.walkEnd <= at {
			break
		}
		at = a.walkEnd
	}
	return nil
}

// filled reads how many bytes of each mapping are there, by its start, from /proc/PID/smaps. The kernel goes by
// the page tables for it.
func (p *Process) filled() (map[uint64]int64, error) {
	f, err := os.Open(p.file("smaps"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[uint64]int64{}
	start := uint64(0)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		if m, err := parseMapping(lines.Text()); err == nil {
			start = m.Start
			all[start] = 0
			continue
		}
		if (fields[0] == "Rss:" || fields[0] == "Swap:") && len(fields) >= 2 {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			all[start] += n << 10
		}
	}
	return all, nil
}
