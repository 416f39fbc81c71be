package record

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestTypeComesFirst(t *testing.T) {
	for l, want := range map[Line]string{
		End{Reason: "a<b"}: `{"type":"end","reason":"a<b","elapsed_ns":0}` + "\n",
		nothing{}:          `{"type":"nothing"}` + "\n",
	} {
		if got, err := EncodeLine(l); err != nil || string(got) != want {
			t.Errorf("EncodeLine = %q, %v; want %q", got, err, want)
		}
	}
}

type nothing struct{}

func (nothing) Type() string { return "nothing" }

func TestNaNIsRefusedAndDoesNotStick(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := w.Write(End{ElapsedNS: math.NaN()}); err == nil || !strings.Contains(err.Error(), "end line") {
		t.Errorf("error %v", err)
	}
	if err := w.Write(End{}); err != nil || b.Len() == 0 {
		t.Errorf("the next line was not written: %v", err)
	}
}

func TestConcurrentWritesKeepLinesWhole(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := w.Write(Memory{Calls: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for line := range strings.Lines(b.String()) {
		if _, err := DecodeLine([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != 400 {
		t.Errorf("%d lines, want 400", n)
	}
}

// A full disk: /dev/full answers every write as one would.
func TestFullDiskSticks(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this system has no /dev/full: %v", err)
	}
	defer f.Close()
	w := NewWriter(f)
	first := w.Write(End{})
	if !errors.Is(first, syscall.ENOSPC) || !strings.Contains(first.Error(), "/dev/full") {
		t.Fatalf("error %v", first)
	}
	if again := w.Write(End{}); again != first {
		t.Errorf("a later write returned %v", again)
	}
}

// A writer that takes half of a line and says nothing.
func TestShortWriteIsNoticed(t *testing.T) {
	if err := NewWriter(half{}).Write(End{}); err == nil {
		t.Error("half a line was taken for a whole one")
	}
}

type half struct{}

func (half) Write(b []byte) (int, error) { return len(b) / 2, nil }
