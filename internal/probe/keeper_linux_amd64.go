package probe

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/process"
)

// A keeper is a small process of moonlap's that attaches programs to functions, and is the only one that has the links: they end with
// it. Moonlap tells it again and again that it still keeps to its budget. Where it does not, because it is stopped, frozen, held by a
// debugger or has ended, the keeper ends, and the kernel takes all breakpoints out. Where that happens to the keeper itself, a
// timer of the kernel's ends it: see process.Guard.

// keeperName is what a keeper is called in lists of processes, and how this program knows that it is one.
const keeperName = "moonlap: keeps probes for a moment"

const (
	lease = time.Second            // how long a keeper waits for a word of moonlap's
	spare = time.Second            // how much later one that does nothing is ended
	beats = 100 * time.Millisecond // how often moonlap gives one
)

// A request is what a keeper is asked to do. One with neither is a word that moonlap still is there, which has no answer.
type request struct {
	Attach, Detach uint64 // the number of what is attached, or detached; 0: nothing

	PID   int
	Multi bool // see HaveMulti
	Sites []keptSite
}

// A keptSite is a Site. With the request come descriptors: of the file that has the functions, then of the programs.
type keptSite struct {
	Program int // which of these, from 0
	Offset  uint64
	Returns bool
	Cookie  uint64
}

// A reply says that it was done, or why not.
type reply struct {
	Errno   unix.Errno
	Lacking bool // ebpf.ErrNotSupported
	Text    string
}

const (
	longest     = 1 << 16 // of a message, in bytes
	mostPassed  = 8       // descriptors with a request
	channelFile = 0       // the keeper's end
)

func init() {
	if len(os.Args) == 1 && os.Args[0] == keeperName {
		os.Exit(beKeeper())
	}
}

func beKeeper() int {
	extend, err := process.Guard()
	if err != nil {
		return 1
	}
	kept := map[uint64][]link.Link{}
	for {
		patience := time.Duration(-1)
		extend(0)
		if len(kept) > 0 {
			patience = lease
			extend(lease + spare)
		}
		var r request
		fds, ok := receive(channelFile, &r, patience)
		if !ok { // its end takes out all
			return 0
		}
		switch {
		case r.Attach != 0:
			links, err := r.attach(fds, func() { extend(lease + spare) })
			if err == nil {
				kept[r.Attach] = links
			}
			ok = send(channelFile, replyOf(err))
		case r.Detach != 0:
			links := kept[r.Detach]
			detach(&links)
			delete(kept, r.Detach)
			ok = send(channelFile, reply{})
		}
		if !ok {
			return 0
		}
	}
}

func (r *request) attach(fds []int, before func()) ([]link.Link, error) {
	if len(fds) == 0 {
		return nil, unix.EBADF
	}
	defer unix.Close(fds[0])
	var programs []*ebpf.Program
	defer func() {
		for _, p := range programs {
			p.Close() // the links hold them
		}
	}()
	for _, fd := range fds[1:] {
		p, err := ebpf.NewProgramFromFD(fd)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	var sites []Site
	for _, s := range r.Sites {
		if s.Program >= len(programs) {
			return nil, unix.EBADF
		}
		sites = append(sites, Site{programs[s.Program], s.Offset, s.Returns, s.Cookie})
	}
	return attachLinks(r.PID, fmt.Sprintf("/proc/self/fd/%d", fds[0]), sites, r.Multi, before)
}

// requestOf asks for programs to be attached, which are sent with it.
func requestOf(number uint64, pid int, sites []Site) (r request, programs []int) {
	r = request{Attach: number, PID: pid, Multi: HaveMulti()}
	for _, s := range sites {
		at := slices.Index(programs, s.Program.FD())
		if at < 0 {
			at = len(programs)
			programs = append(programs, s.Program.FD())
		}
		r.Sites = append(r.Sites, keptSite{at, s.Offset, s.Returns, s.Cookie})
	}
	return r, programs
}

// send sends a message and files with it, or does not because nobody takes it.
func send[T any](fd int, message T, files ...int) bool {
	text, err := json.Marshal(message)
	if err != nil || len(text) > longest || len(files) > mostPassed {
		return false
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	for {
		if err = unix.Sendmsg(fd, text, rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); err != unix.EINTR {
			return err == nil
		}
	}
}

// receive waits for a message for so long; below 0: until it comes, or the end.
func receive[T any](fd int, message *T, patience time.Duration) (files []int, ok bool) {
	for until := Now() + patience; ; {
		var timeout *unix.Timespec
		if patience >= 0 {
			left := unix.NsecToTimespec(int64(max(0, until-Now())))
			timeout = &left
		}
		n, err := unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, timeout, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil, false
		}
		break
	}
	const bytesOfOne = 4
	text, rights := make([]byte, longest), make([]byte, unix.CmsgSpace(mostPassed*bytesOfOne))
	n, m, _, _, err := unix.Recvmsg(fd, text, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return nil, false
	}
	if messages, err := unix.ParseSocketControlMessage(rights[:m]); err == nil {
		for i := range messages {
			some, _ := unix.ParseUnixRights(&messages[i])
			files = append(files, some...)
		}
	}
	return files, json.Unmarshal(text[:n], message) == nil
}
