package process

import (
	"encoding/binary"
	"os"
	"strings"
)

// A span is a run of addresses [from, to).
type span struct{ from, to uint64 }

func (s span) size() int64 { return int64(s.to - s.from) }

// private tells that a mapping is memory of the process's own: allocated, not of a file and not
// shared with other processes.
func (m Mapping) private() bool {
	return m.Writable && m.Inode == 0 && !strings.HasPrefix(m.Path, "[stack") && !strings.HasPrefix(m.Path, "[v")
}

// Bits of an entry of /proc/PID/pagemap (kernel: admin-guide/mm/pagemap).
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageEntry   = 8
)

// resident lists the private memory that the process has used: pages never touched hold nothing, and to
// read them takes time for nothing. Small gaps are bridged, so that an array that spans one stays in one
// piece; so does an object that spans two mappings side by side, as memory from before a fork and from
// after it are.
func (p *Process) resident() ([]span, error) {
	f, err := os.Open(p.file("pagemap"))
	if err != nil {
		return nil, p.explain(err)
	}
	defer f.Close()
	const bridged = 4 * pageSize
	var all []span
	first, end := 0, uint64(0) // of mappings side by side: their first span, and where they end
	buffer := make([]byte, 1<<16)
	for _, m := range p.Maps {
		if !m.private() {
			continue
		}
		if m.Start != end {
			first = len(all)
		}
		end = m.End
		for at := m.Start; at < m.End; {
			entries := min((m.End-at)/pageSize, uint64(len(buffer)/pageEntry))
			b := buffer[:entries*pageEntry]
			if n, err := f.ReadAt(b, int64(at/pageSize*pageEntry)); err != nil {
				if n == 0 {
					break // unmapped meanwhile
				}
				b = b[:n/pageEntry*pageEntry]
			}
			for ; len(b) > 0; b, at = b[pageEntry:], at+pageSize {
				if binary.LittleEndian.Uint64(b)&(pagePresent|pageSwapped) == 0 {
					continue
				}
				if last := len(all) - 1; last >= first && at-all[last].to <= bridged {
					all[last].to = at + pageSize
				} else {
					all = append(all, span{at, at + pageSize})
				}
			}
		}
	}
	return all, nil
}
