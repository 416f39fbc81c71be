package follow

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/worker"
)

// A scene is processes that are followed: sleeps, in place of workers.
type scene struct {
	*Follower
	t *testing.T

	lock   sync.Mutex // of what follows
	there  []int
	failed []int
}

func newScene(t *testing.T, expects bool) *scene {
	s := &scene{t: t}
	s.Follower = &Follower{
		Find: func() ([]int, error) {
			s.lock.Lock()
			defer s.lock.Unlock()
			return slices.Clone(s.there), nil
		},
		Expects: func() bool { return expects },
		Every:   func() time.Duration { return time.Millisecond },
		Open:    func(pid int) (*worker.Worker, error) { return nil, errors.New("no Lua") },
		Failed: func(pid int, err error) {
			s.lock.Lock()
			defer s.lock.Unlock()
			s.failed = append(s.failed, pid)
		},
	}
	return s
}

// process starts a process that ends with the test.
func (s *scene) process() *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	s.lock.Lock()
	defer s.lock.Unlock()
	s.there = append(s.there, cmd.Process.Pid)
	return cmd
}

// TestRefused: where no process can be opened, that is reported of each once, and following ends, though others are expected.
func TestRefused(t *testing.T) {
	s := newScene(t, true)
	a, b := s.process().Process.Pid, s.process().Process.Pid
	s.Run(t.Context())
	slices.Sort(s.failed)
	if want := []int{a, b}; !slices.Equal(s.failed, want) {
		t.Errorf("%v failed, of %v", s.failed, want)
	}
}

// TestPatience: a process that comes later may take a while until it can be opened; one that ends meanwhile, as in a reload, is no
// failure; one that stays closed is.
func TestPatience(t *testing.T) {
	s := newScene(t, true)
	s.Young, s.Patience = true, 300*time.Millisecond
	ends, stays := s.process(), s.process()
	tries := map[int]int{}
	s.Open = func(pid int) (*worker.Worker, error) {
		s.lock.Lock()
		defer s.lock.Unlock()
		if tries[pid]++; tries[pid] == 3 && pid == ends.Process.Pid {
			ends.Process.Kill()
			s.there = []int{stays.Process.Pid} // no worker that has ended is found
		}
		return nil, errors.New("no Lua yet")
	}
	s.Run(t.Context())
	if !slices.Equal(s.failed, []int{stays.Process.Pid}) {
		t.Errorf("%v failed, not %d", s.failed, stays.Process.Pid)
	}
	if n := tries[stays.Process.Pid]; n < 5 {
		t.Errorf("%d tries in %v", n, s.Patience)
	}
}

// TestUntil: nothing is begun once finding has ended, and a context that has ended leaves no failure.
func TestUntil(t *testing.T) {
	s := newScene(t, true)
	s.process()
	ended, end := context.WithCancel(t.Context())
	end()
	s.RunUntil(t.Context(), ended)
	s.Run(ended)
	if s.failed != nil {
		t.Errorf("%v", s.failed)
	}
}

// TestChoice: chosen processes are each named once, and no others are expected.
func TestChoice(t *testing.T) {
	c := Choice{PIDs: []int{3, 1, 3}}
	if pids, err := c.Find(); err != nil || !slices.Equal(pids, []int{1, 3}) || c.Expects() {
		t.Errorf("%v, %v", pids, err)
	}
	if c := (Choice{Master: 1 << 30}); c.Expects() {
		t.Error("a master that is gone has no more workers")
	}
	if c := (Choice{All: true}); !c.Expects() {
		t.Error("others may come")
	}
}

// TestRound: rounds take the place of waiting, have what was found, and following ends where one says so.
func TestRound(t *testing.T) {
	s := newScene(t, true)
	pid := s.process().Process.Pid
	s.Every = func() time.Duration { return time.Hour }
	rounds := 0
	s.Round = func(_ context.Context, found []int, err error) bool {
		if !slices.Equal(found, []int{pid}) || err != nil {
			t.Errorf("found: %v, %v", found, err)
		}
		rounds++
		return rounds < 3
	}
	s.Run(t.Context())
	if rounds != 3 {
		t.Errorf("%d rounds", rounds)
	}
}
