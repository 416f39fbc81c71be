package main

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
)

// running are the servers that end with this program, however it ends: at a signal they are stopped, and
// their folders removed. Where there is no time for that, the kernel tells them.
var running struct {
	sync.Mutex
	servers []*server
	watched sync.Once
}

// endWithUs starts a server's program, which is told when this one is no more. The kernel means the thread
// that started it, so that has to stay.
func (s *server) endWithUs(run *exec.Cmd) error {
	running.watched.Do(stopAtSignals)
	run.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:   true, // an interrupt is for this program, which stops it then
		Pdeathsig: syscall.SIGTERM,
	}
	running.Lock()
	defer running.Unlock()
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- run.Start()
		select {}
	}()
	s.run = run
	running.servers = append(running.servers, s)
	return <-started
}

// stopAtSignals has the signals that would end this program stop its servers first; SIGPIPE comes when
// nobody reads its tables any more.
func stopAtSignals() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		got := (<-signals).(syscall.Signal)
		running.Lock() // and no other is started
		for _, s := range running.servers {
			s.end()
		}
		os.Exit(128 + int(got))
	}()
}

// stop ends the server and removes its folder.
func (s *server) stop() error {
	running.Lock()
	defer running.Unlock()
	i := slices.Index(running.servers, s)
	if i < 0 {
		return nil // it was before
	}
	running.servers = slices.Delete(running.servers, i, i+1)
	return s.end()
}

func (s *server) end() error {
	if s.run.Process != nil {
		s.run.Process.Signal(os.Interrupt)
		s.run.Wait()
	}
	return os.RemoveAll(s.folder)
}
