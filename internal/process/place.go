package process

import (
	"fmt"
	"os"
)

// A Place is where a function's code lies: a file, as this process can open it, and a distance in it.
type Place struct {
	File   string
	Offset uint64
	Code   []byte // of the whole function, from there on
}

// Place finds the function that begins at an address in memory, by .eh_frame.
func (p *Process) Place(address uint64) (Place, error) {
	o, err := p.ObjectAt(address)
	if err != nil {
		return Place{}, err
	}
	f, ok := o.frameAt(address)
	if !ok || f.From != address {
		return Place{}, fmt.Errorf("%s: no function is known to begin at %#x", o.Path, address-o.Bias)
	}
	m, _ := p.Mapped(address)
	place := Place{File: p.mappedFile(m)}
	place.Code, place.Offset, err = o.read(f.Interval) // in memory, somebody's probe may be in it
	return place, err
}

// mappedFile is a path to the very file that is mapped: see openMapped.
func (p *Process) mappedFile(m Mapping) string {
	path := fmt.Sprintf("/proc/%d/map_files/%x-%x", p.PID, m.Start, m.End)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return p.Path(m.Path)
}
