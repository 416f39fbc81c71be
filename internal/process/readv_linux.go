package process

import "golang.org/x/sys/unix"

// readChunk reads memory straight from the process's pages, without a copy in the kernel. It returns
// how much it has read, which may be less where the memory ends.
func (p *Process) readChunk(b []byte, address uint64) (int, error) {
	local := unix.Iovec{Base: &b[0]}
	local.SetLen(len(b))
	n, err := unix.ProcessVMReadv(p.PID, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
	if n <= 0 { // some containers forbid the call, but not the file
		return p.mem.ReadAt(b, int64(address))
	}
	return n, err
}
