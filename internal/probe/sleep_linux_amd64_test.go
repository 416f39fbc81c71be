package probe_test

import (
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
)

// TestSleeps: naps of a thread come in pairs of its stacks and how long it was away, and the parts of its time
// together are its time.
func TestSleeps(t *testing.T) {
	session, other := open(t), open(t)
	napping, _ := child(t, sleeping)
	begin := func(session *probe.Session) *probe.Source {
		s, err := session.Attach(target(napping.Process.Pid), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sleeps(0, probe.Running); err != nil {
			t.Fatal(err)
		}
		return s
	}
	const nanosleep = 35
	start := probe.Now()
	s := begin(session)
	began := probe.Now()
	second := begin(other)
	for range 3 {
		var left time.Duration
		await(t, s, "of a nap", func(m *probe.Snapshot) bool {
			if m.Kind == probe.OnCPU {
				t.Error("a tick that nobody asked for")
			}
			if m.Kind != probe.Blocked || m.Call() != nanosleep {
				return false
			}
			left = m.Time
			if !m.Main || m.State()&1 == 0 || len(m.Kernel) == 0 || m.Registers.RIP == 0 {
				t.Errorf("in state %#x, %d frames of the kernel, registers %+v", m.State(), len(m.Kernel), m.Registers)
			}
			return true
		})
		await(t, s, "of its end", func(m *probe.Snapshot) bool {
			away := time.Duration(m.Value)
			if m.Kind != probe.Back || m.Slept < nap || m.Queued < 0 || m.Slept+m.Queued != away || m.Time < left+nap {
				t.Errorf("a nap of %v: kind %d at %v, %v away, %v asleep, %v queued", nap, m.Kind, m.Time-left, away, m.Slept, m.Queued)
			}
			return true
		})
	}
	await(t, second, "of another session", func(m *probe.Snapshot) bool { return m.Kind == probe.Back })
	within := probe.Now() - began
	s.Detach()
	elapsed := probe.Now() - start
	for range s.Snapshots() { // is closed
	}
	r, err := s.Rest()
	if err != nil {
		t.Fatal(err)
	}
	sum := r.Computed + r.Idle + r.Slept + r.Queued + r.Halted
	if r.Sleeps < 3 || r.Slept < 3*nap || sum > elapsed || sum < within*9/10 || r.Idle != 0 || r.Turns.Count != 0 {
		t.Errorf("%d sleeps of %v, together %v of %v to %v, %d turns", r.Sleeps, r.Slept, sum, within, elapsed, r.Turns.Count)
	}
	again := begin(session)
	await(t, again, "of the same session again", func(m *probe.Snapshot) bool { return m.Kind == probe.Back })
	napping.Process.Kill()
	napping.Wait()
	await(t, second, "before its end", func(m *probe.Snapshot) bool { return m.Kind == probe.Back })
	again.Detach()
	for range again.Snapshots() { // is closed, though the process has ended
	}
}

// TestSleepsOften: beyond N stacks in a second, sleeps are counted.
func TestSleepsOften(t *testing.T) {
	session := open(t)
	napping, _ := child(t, blinking)
	s, err := session.Attach(target(napping.Process.Pid), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sleeps(0, probe.Running); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range s.Snapshots() {
		}
	}()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		r, err := s.Rest()
		if err != nil {
			t.Fatal(err)
		}
		if r.Unseen > 0 && r.Unseen < r.Sleeps && r.UnseenFor > 0 && r.UnseenFor < r.Slept {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", r)
		}
	}
	s.Detach()
}
