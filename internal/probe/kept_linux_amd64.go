package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// theKeeper is that of this program.
var theKeeper = keeping{kept: map[uint64]attached{}}

// A keeping is moonlap's end of a keeper, which is started when something is first attached.
type keeping struct {
	lock    sync.Mutex
	cmd     *exec.Cmd // nil: there is no keeper
	channel *os.File  // to it
	last    uint64    // number that was given
	kept    map[uint64]attached
	heard   time.Duration // when the keeper last heard that this program still is there: see Now
	beating bool          // it is reported again and again
	gaps    time.Duration // see Gaps
}

// attached is what a keeper was asked to attach, to ask the next one.
type attached struct {
	pid   int
	file  string
	sites []Site
}

// Gaps is for how long, until now, nothing was attached that should have been, because this program or its keeper stood still.
func Gaps() time.Duration {
	theKeeper.lock.Lock()
	defer theKeeper.lock.Unlock()
	return theKeeper.gaps
}

// errKeeper is the error of a keeper that does not answer.
var errKeeper = errors.New("moonlap's own process that takes probes out again stood still, or was killed")

func (k *keeping) attach(pid int, file string, sites []Site) (number uint64, err error) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.mend()
	k.last++
	a := attached{pid, file, sites}
	if err = k.put(k.last, a); err == errKeeper {
		k.mend()
		err = k.put(k.last, a)
	}
	if err != nil {
		return 0, err
	}
	k.kept[k.last] = a
	if !k.beating {
		k.beating = true
		go k.beat()
	}
	return k.last, nil
}

// put has the keeper attach; where there is none, it is started.
func (k *keeping) put(number uint64, a attached) error {
	if k.cmd == nil {
		if err := k.start(); err != nil {
			return fmt.Errorf("nothing is probed, for want of a second process that takes probes out in any case: %w", err)
		}
	}
	file, err := unix.Open(a.file, unix.O_PATH|unix.O_CLOEXEC, 0) // its path may be a descriptor of this program's
	if err != nil {
		return fmt.Errorf("open %s: %w", a.file, err)
	}
	defer unix.Close(file)
	r, programs := requestOf(number, a.pid, a.sites)
	return k.ask(r, append([]int{file}, programs...)...)
}

func (k *keeping) detach(number uint64) {
	k.lock.Lock()
	defer k.lock.Unlock()
	if _, ok := k.kept[number]; !ok {
		return
	}
	k.mend()
	delete(k.kept, number)
	if k.cmd != nil {
		_ = k.ask(request{Detach: number}) // where it fails, the keeper has ended, and all with it
	}
}

// ask asks the keeper, and ends one that does not answer.
func (k *keeping) ask(r request, programs ...int) error {
	const patience = 10 * time.Second
	var answer reply
	ok := send(int(k.channel.Fd()), r, programs...)
	if ok {
		_, ok = receive(int(k.channel.Fd()), &answer, patience)
	}
	if !ok {
		k.end()
		return errKeeper
	}
	k.heard = Now()
	return answer.err()
}

// beat tells the keeper that this program still is there, as long as it keeps anything.
func (k *keeping) beat() {
	for {
		time.Sleep(beats)
		k.lock.Lock()
		if len(k.kept) == 0 {
			k.beating = false
			k.lock.Unlock()
			return
		}
		k.mend()
		k.lock.Unlock()
	}
}

// mend tells the keeper so, and where it has ended has another one attach what it kept.
func (k *keeping) mend() {
	if len(k.kept) == 0 {
		return
	}
	if k.cmd != nil && send(int(k.channel.Fd()), request{}) {
		k.heard = Now()
		return
	}
	k.end()
	missed := k.heard
	for number, a := range k.kept {
		err := k.put(number, a)
		if err == errKeeper {
			return // and do all that again, when the next word is due
		}
		if err != nil {
			delete(k.kept, number) // its worker has ended, mostly
		}
	}
	gap := Now() - missed
	if gap > lease {
		gap -= lease // the keeper has waited for so long
	}
	k.gaps += gap
}

// start starts a keeper.
func (k *keeping) start() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	its := os.NewFile(uintptr(pair[1]), "keeper")
	defer its.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = keeperName
	cmd.Stdin = its
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		unix.Close(pair[0])
		return err
	}
	k.cmd, k.channel, k.heard = cmd, os.NewFile(uintptr(pair[0]), "keeper"), Now()
	return nil
}

// end ends the keeper, and with it all that it keeps.
func (k *keeping) end() {
	if k.cmd == nil {
		return
	}
	k.channel.Close()
	k.cmd.Process.Kill()
	go k.cmd.Wait() // one that is frozen ends later
	k.cmd, k.channel = nil, nil
}

// A keptError is why a keeper could not attach.
type keptError struct{ reply }

func (e *keptError) Error() string { return e.Text }

func (e *keptError) Is(target error) bool {
	return e.Lacking && target == ebpf.ErrNotSupported || e.Errno != 0 && errors.Is(e.Errno, target)
}

func replyOf(err error) (r reply) {
	if err != nil {
		r.Text, r.Lacking = err.Error(), errors.Is(err, ebpf.ErrNotSupported)
		errors.As(err, &r.Errno)
	}
	return r
}

func (r reply) err() error {
	if r.Text == "" {
		return nil
	}
	return &keptError{r}
}
