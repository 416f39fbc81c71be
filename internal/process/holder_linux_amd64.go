package process

import (
	"encoding/binary"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A holder is a small process of moonlap's that stops another one while moonlap reads its memory. Nothing that happens to
// moonlap leaves the other one stopped:
//
//   - The holder lets it go at a deadline of its own, and at once where moonlap ends.
//   - It is in a session of its own: no key of a terminal and no signal to a process group reaches it.
//   - It leaves a frozen cgroup of version 1 before it is frozen, for the root of that hierarchy, which cannot be.
//   - While it holds a process, a timer of the kernel's runs that ends the holder by SIGKILL. This needs nothing of the
//     holder's own: it comes also where that is stopped, traced, or frozen by version 2. The kernel lets go whatever a
//     process traced that has ended.

// holderName is what a holder is called in lists of processes, and how this program knows that it is one.
const holderName = "moonlap: holds a worker for a moment"

// spare is how much later than its deadline a holder that does nothing is ended.
const spare = 100 * time.Millisecond

// A holder is this program once more, whichever it is: a test's, too.
func init() {
	if len(os.Args) == 2 && os.Args[0] == holderName {
		os.Exit(beHolder(os.Args[1]))
	}
}

func beHolder(arg string) int {
	pid, err := strconv.Atoi(arg)
	if err != nil {
		return 1
	}
	timer, err := guard()
	if err != nil {
		return 1
	}
	(&holder{pid: pid, timer: &timer, in: 0, out: 1}).run()
	return 0
}

// unhindered has the thread go before all others, also where its cgroup has used up its share of the CPU: while it
// waits for a processor, a worker stands still. It has to end with what it is for, which takes microseconds, or sleep
// mostly. Where that is not allowed, it is as it was.
func unhindered() {
	const fifo, resetOnFork = 1, 1
	unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: fifo, Flags: resetOnFork, Priority: 1}, 0)
}

// A holder takes two requests in turn: to hold the process, for N nanoseconds, and to let it go. Its work is all of
// one thread, because ptrace knows threads, not processes.
type holder struct {
	pid     int
	timer   *killTimer // nil: none
	in, out int
}

// A grip is the answer to the first request.
type grip struct {
	Outcome   outcome
	Errno     unix.Errno
	Until     time.Duration // on the clock of monotonic: when the process is let go, asked or not
	Registers unix.PtraceRegs
}

// A release is the answer to the second.
type release struct {
	Pause time.Duration // how long the process stood still, at most
	Errno unix.Errno
}

// An outcome is what became of an attempt to stop a process.
type outcome uint64

const (
	stopped outcome = iota
	ended
	hangs   // in the kernel
	refused // with an Errno
)

func (h *holder) run() {
	for {
		hold, asked := h.request(-1)
		if asked != yes || !h.once(time.Duration(hold)) {
			return
		}
	}
}

// once holds the process once. false: the holder has to end, because nobody asks any more, or because only its end lets go
// a process that did not stop.
func (h *holder) once(hold time.Duration) bool {
	defer h.timer.disarm()
	h.timer.arm(hold + spare)
	var g grip
	var signal unix.Signal
	var began time.Duration
	if g.Outcome, signal, g.Errno = h.stop(hold, &began); g.Outcome == stopped {
		g.Errno = errno(unix.PtraceGetRegs(h.pid, &g.Registers))
		h.timer.arm(hold + spare)
		g.Until = monotonic() + hold
	}
	if !send(h.out, &g) || g.Outcome != stopped {
		detach(h.pid, signal)
		return false
	}
	_, asked := h.request(hold)
	f := release{Errno: errno(detach(h.pid, signal)), Pause: monotonic() - began}
	h.timer.disarm()
	if asked == late {
		_, asked = h.request(-1)
	}
	return asked == yes && send(h.out, &f)
}

// stop begins to trace the process, and waits until it has stopped. A signal other than 0 came first and stopped it; it has
// to reach it all the same. ran is when the process was last seen to run.
func (h *holder) stop(hold time.Duration, ran *time.Duration) (outcome, unix.Signal, unix.Errno) {
	const tries = 20 // another moonlap that holds it is done soon
	for n := 1; ; n++ {
		h.timer.arm(hold + spare)
		err := errno(unix.PtraceSeize(h.pid))
		if err == 0 {
			break
		}
		if err != unix.EPERM || n == tries || (&Process{PID: h.pid}).Ended() {
			return refused, 0, err
		}
		h.timer.disarm() // nothing is held
		nap(time.Millisecond)
	}
	*ran = monotonic()
	if err := unix.PtraceInterrupt(h.pid); err != nil {
		return refused, 0, errno(err)
	}
	pause := 10 * time.Microsecond
	for deadline := monotonic() + stopPatience; ; {
		h.timer.arm(hold + spare)
		now := monotonic()
		// The process may be a child of this program's, whose end is somebody else's to wait for.
		var about unix.Siginfo
		err := unix.Waitid(unix.P_PID, h.pid, &about, unix.WEXITED|unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if err == nil && about.Signo != 0 && about.Code != cldTrapped && about.Code != cldStopped {
			return ended, 0, 0
		}
		var status unix.WaitStatus
		pid := 0
		if err == nil && about.Signo != 0 {
			pid, err = unix.Wait4(h.pid, &status, unix.WNOHANG|unix.WALL, nil)
		}
		switch {
		case err == unix.EINTR:
		case err != nil:
			return refused, 0, errno(err)
		case pid == 0 && now > deadline:
			return hangs, 0, 0
		case pid == 0:
			*ran = now
			nap(pause)
			pause = min(2*pause, 200*time.Microsecond)
		case !status.Stopped():
			return ended, 0, 0
		case int(status)>>16 == unix.PTRACE_EVENT_STOP:
			return stopped, 0, 0
		default:
			return stopped, status.StopSignal(), 0
		}
	}
}

// nap sleeps, on this thread. time.Sleep would have another thread of this program wake it, one that is not unhindered: where many
// processes wait for a processor, it comes so late that the timer has ended the holder.
func nap(long time.Duration) {
	timing := unix.NsecToTimespec(int64(long))
	unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &timing, nil)
}

// What a waited-for child did: codes of waitid(2).
const (
	cldTrapped = 4
	cldStopped = 5
)

func detach(pid int, signal unix.Signal) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Whether a request came.
type whether int

const (
	yes whether = iota
	late
	gone // nobody asks any more
)

// request waits for the next request for so long; below 0: until it comes.
func (h *holder) request(patience time.Duration) (number uint64, asked whether) {
	if patience >= 0 && !readable(h.in, patience) {
		return 0, late
	}
	var b [8]byte
	if !receive(h.in, &b) {
		return 0, gone
	}
	return binary.NativeEndian.Uint64(b[:]), yes
}

// readable waits until there is something to read, or the end.
func readable(fd int, patience time.Duration) bool {
	for until := monotonic() + patience; ; {
		left := max(0, until-monotonic())
		timeout := unix.NsecToTimespec(int64(left))
		n, err := unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, &timeout, nil)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n > 0
	}
}

// send writes a message as it lies in memory: both ends are the same program.
func send[T any](fd int, message *T) bool {
	for b := bytesOf(message); len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}

// receive reads one; false: there is none, and will be none.
func receive[T any](fd int, message *T) bool {
	for b := bytesOf(message); len(b) > 0; {
		n, err := unix.Read(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

func bytesOf[T any](message *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(message)), unsafe.Sizeof(*message))
}

func errno(err error) unix.Errno {
	e, _ := err.(unix.Errno)
	return e
}

// monotonic is the time since the machine started, which all processes share.
func monotonic() time.Duration {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return time.Duration(now.Nano())
}
