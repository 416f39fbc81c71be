package process

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
)

// A span is a run of addresses [from, to).
type span struct{ from, to uint64 }

func (s span) size() int64 { return int64(s.to - s.from) }

// private reports that a mapping is memory of the process's own: allocated, not of a file and not
// shared with other processes.
func (m Mapping) private() bool {
	return m.Writable && m.Inode == 0 && !strings.HasPrefix(m.Path, "[stack") && !strings.HasPrefix(m.Path, "[v")
}

// Bits of an entry of /proc/PID/pagemap (kernel: admin-guide/mm/pagemap).
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageAlone   = 1 << 56 // no other process has it; never set for the page of zeros
	pageEntry   = 8
)

// errNoScan says that the kernel has no PAGEMAP_SCAN: it is older than Linux 6.7.
var errNoScan = errors.New("the kernel does not scan page maps")

// A pageList collects the pages of a process that are to be copied.
type pageList struct {
	usage
	first int // spans before it belong to mappings that do not lie side by side with this one
}

// add takes pages in the order of their addresses. Small gaps are bridged, so that an array that spans one
// stays in one piece.
func (l *pageList) add(from, to uint64, swapped bool) {
	const bridged = 4 * pageSize
	if swapped {
		l.swapped += int64(to - from)
	}
	if last := len(l.spans) - 1; last >= l.first && from-l.spans[last].to <= bridged {
		l.spans[last].to = to
		return
	}
	l.spans = append(l.spans, span{from, to})
}

// resident lists the private memory that the process has used, as long as more says so: pages never touched
// hold nothing, and to read them takes time for nothing. An object that spans two mappings side by side, as
// memory from before a fork and from after it are, stays in one piece.
func (p *Process) resident(more func() bool) (usage, error) {
	f, err := os.Open(p.file("pagemap"))
	if err != nil {
		return usage{}, p.explain(err)
	}
	defer f.Close()
	l := &pageList{}
	end := uint64(0) // of the mapping before
	scans := !p.noScan
	var filled map[uint64]int64
	for _, m := range p.Maps {
		if !m.private() || !more() {
			continue
		}
		if m.Start != end {
			l.first = len(l.spans)
		}
		end = m.End
		if scans {
			err := scanPages(f, m, l, more)
			if err == nil {
				continue
			}
			if !errors.Is(err, errNoScan) {
				return usage{}, p.explain(err)
			}
			scans = false
		}
		// One entry for each page, also for those that are not there: 2 GB for a mapping of a terabyte.
		const large = 1 << 30
		least := int64(-1)
		if m.End-m.Start > large {
			if filled == nil {
				if filled, err = p.filled(); err != nil {
					return usage{}, p.explain(err)
				}
			}
			if n, known := filled[m.Start]; known {
				least = n
			}
		}
		readPages(f, m, l, least, more)
	}
	return l.usage, nil
}

// readPages reads the entries of a mapping. Where it is known how many bytes are there, it ends with the last
// of them; -1: not known.
func readPages(f *os.File, m Mapping, l *pageList, known int64, more func() bool) {
	buffer := make([]byte, 1<<16)
	for at := m.Start; at < m.End && known != 0 && more(); {
		entries := min((m.End-at)/pageSize, uint64(len(buffer)/pageEntry))
		b := buffer[:entries*pageEntry]
		if n, err := f.ReadAt(b, int64(at/pageSize*pageEntry)); err != nil {
			if n < pageEntry {
				break // unmapped meanwhile
			}
			b = b[:n/pageEntry*pageEntry]
		}
		for ; len(b) > 0; b, at = b[pageEntry:], at+pageSize {
			entry := binary.LittleEndian.Uint64(b)
			if entry&(pagePresent|pageSwapped) == 0 {
				continue
			}
			l.add(at, at+pageSize, entry&pageSwapped != 0)
			// Pages of zeros, which were read and never written, do not count as known.
			if known > 0 && entry&(pageAlone|pageSwapped) != 0 {
				known = max(0, known-pageSize)
			}
		}
	}
}
