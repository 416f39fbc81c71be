package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A clock ticks on every processor, for all workers that are sampled with its period.
type clock []*attachment

// clockOf makes sure that there is a clock of the period, which lasts as long as the session.
func (s *Session) clockOf(period time.Duration) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.clocks[period] != nil {
		return nil
	}
	processors, err := ebpf.PossibleCPU()
	if err != nil {
		return err
	}
	var c clock
	for processor := range processors {
		a, err := attach(s.objects.OnClock, anyThread, processor, period, uint64(period))
		if errors.Is(err, unix.ENODEV) {
			continue // it is not there, or switched off
		}
		if err != nil {
			c.close()
			return err
		}
		c = append(c, a)
	}
	s.clocks[period] = c
	return nil
}

func (c clock) close() {
	for _, a := range c {
		a.close()
	}
}

// join has the processors' clocks sample the worker's main thread. Where whole processors may not be sampled,
// the thread gets a clock of its own, as others have it.
func (s *Source) join() error {
	if s.period == 0 || s.session.clockOf(s.period) != nil {
		return nil
	}
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(fd)
	value := sampleSampled{Period: uint64(s.period), Number: uint64(s.number)}
	if err := s.session.objects.Clocked.Put(int32(fd), &value); err != nil {
		return Explain("mark the worker's thread", err)
	}
	s.clocked = true
	return nil
}

// leave ends what join began.
func (s *Source) leave() {
	if !s.clocked {
		return
	}
	if fd, err := unix.PidfdOpen(s.pid, 0); err == nil {
		s.session.objects.Clocked.Delete(int32(fd)) // it may have ended, and have none
		unix.Close(fd)
	}
}
