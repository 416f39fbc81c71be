package process

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// found is the longest run of the child's tokens in a copy.
func found(c *Copy) (longest int) {
	for _, p := range c.Parts() {
		for b := p.Bytes; ; {
			i := bytes.Index(b, []byte(token))
			if i < 0 {
				break
			}
			n := 0
			for b = b[i:]; bytes.HasPrefix(b, []byte(token)); b = b[len(token):] {
				n++
			}
			longest = max(longest, n)
		}
	}
	return longest
}

// TestSnapshot copies a process that stands still, and one that runs.
func TestSnapshot(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	p, err := Open(child(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, budget := range []time.Duration{0, time.Minute} {
		s, err := p.Snapshot(SnapshotOptions{Pause: budget})
		if errors.Is(err, os.ErrPermission) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := found(s.Copy); n != tokens {
			t.Errorf("budget %v: %d tokens in a row, want %d", budget, n, tokens)
		}
		stopped := budget > 0
		if s.Stopped != stopped || (s.Pause > 0) != stopped || (s.Registers.RIP > 0) != stopped {
			t.Errorf("budget %v: stopped %v for %v at %#x", budget, s.Stopped, s.Pause, s.Registers.RIP)
		}
		if s.Missing > 0 {
			t.Errorf("budget %v: %d bytes are missing", budget, s.Missing)
		}
	}
}

// TestSnapshotTooLong: where the copy does not fit, the process is not stopped, or goes on.
func TestSnapshotTooLong(t *testing.T) {
	p, err := Open(child(t).Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.Snapshot(SnapshotOptions{Pause: 1})
	var long *PauseError
	if !errors.As(err, &long) {
		t.Fatalf("within a nanosecond: %v", err)
	}
	if long.Pause != 0 || long.Needed <= 1 || !strings.Contains(err.Error(), "was not stopped") {
		t.Errorf("%+v: %v", long, err)
	}
	// Given up in the middle: what was read until then stands, and the clock is asked for every chunk.
	u, err := p.used(always)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	s, err := p.read(u.spans, make([]byte, u.size), nil, func() bool { asked++; return asked <= 2 })
	if err != nil || s.Size() == 0 || s.Size() >= u.size {
		t.Errorf("given up after two chunks: %d of %d bytes, %v", s.Size(), u.size, err)
	}
	if stat, err := p.Stat(); err != nil || stat.State == 't' {
		t.Errorf("its state is %c, %v", stat.State, err)
	}
}

// TestStillNeeded: a process that took long to stop does not make its copy take for hours.
func TestStillNeeded(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		rehearsed, took time.Duration
		done            int64
		want            time.Duration
	}{
		{2 * ms, 50 * ms, 0, 52 * ms}, {2 * ms, 50 * ms, 500, 100 * ms}, {200 * ms, 50 * ms, 500, 200 * ms},
	} {
		if got := stillNeeded(c.rehearsed, c.took, c.done, 1000); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestCopy: what was copied can be viewed, whole or not at all.
func TestCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const room = 64
		memory := map[uint64]byte{}
		var parts []Part
		for at := uint64(0); at < room; {
			gap, n := rapid.Uint64Range(0, 5).Draw(t, "gap"), rapid.Uint64Range(1, 9).Draw(t, "size")
			part := Part{Address: 1000 + at + gap}
			for i := range n {
				part.Bytes = append(part.Bytes, byte(at+i+1))
				memory[part.Address+i] = byte(at + i + 1)
			}
			parts = append(parts, part)
			at += gap + n + 1
		}
		slices.Reverse(parts)
		c := NewCopy(parts)
		for range 20 {
			at, n := rapid.Uint64Range(990, 1000+room+20).Draw(t, "address"), rapid.IntRange(1, 10).Draw(t, "bytes")
			var want []byte
			for i := range uint64(n) {
				if b, ok := memory[at+i]; ok {
					want = append(want, b)
				}
			}
			got := c.View(at, n)
			if len(want) < n {
				want = nil
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%d bytes at %d: %v, want %v", n, at, got, want)
			}
			if err := c.ReadAt(make([]byte, n), at); (err == nil) != (want != nil) {
				t.Fatalf("%d bytes at %d: %v", n, at, err)
			}
		}
		if c.View(1<<63, 8) != nil || c.View(1000, -1) != nil || c.View(1<<64-4, 8) != nil {
			t.Fatal("what is no memory was viewed")
		}
	})
}

func TestPrivate(t *testing.T) {
	for line, want := range map[string]bool{
		"1000-2000 rw-p 00000000 00:00 0 ":                        true,
		"1000-2000 rw-p 00000000 00:00 0  [heap]":                 true,
		"1000-2000 rw-p 00000000 00:00 0  [stack]":                false,
		"1000-2000 r--p 00000000 00:00 0 ":                        false,
		"1000-2000 rw-s 00000000 00:01 1042  /dev/zero (deleted)": false,
		"1000-2000 rw-p 00000000 fd:01 1042  /usr/lib/libc.so.6":  false,
		"1000-2000 r-xp 00000000 00:00 0  [vdso]":                 false,
		"1000-2000 rw-p 00000000 00:00 0  [anon: a name it gave]": true,
	} {
		m, err := parseMapping(line)
		if err != nil {
			t.Fatal(err)
		}
		if m.private() != want {
			t.Errorf("%s: %v", line, m.private())
		}
	}
}

// grow is the child of TestGrows: it grows while it is copied, says so, and waits; at last it says that it is done.
func grow() {
	for n := range 6 {
		for range 4 {
			kept = append(kept, bytes.Repeat([]byte{1}, 1<<(18+n))...)
			time.Sleep(time.Millisecond)
		}
		os.Stdout.Write([]byte("!"))
		more := make(chan []byte)
		go func() { more <- bytes.Repeat([]byte{2}, 1<<22) }() // while it is copied
		os.Stdin.Read(make([]byte, 1))
		kept = append(kept, <-more...)
	}
	os.Stdout.Write([]byte("."))
	os.Stdin.Read(make([]byte, 1))
}
