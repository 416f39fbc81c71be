//go:build !linux

package process

func (p *Process) readChunk(b []byte, address uint64) (int, error) {
	return p.mem.ReadAt(b, int64(address))
}
