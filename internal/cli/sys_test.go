package cli

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestSamePress: a signal that arrives twice, as timeout(1) passes it on, asks for the end once, and the report is written.
func TestSamePress(t *testing.T) {
	defer func(d time.Duration) { samePress = d }(samePress)
	samePress = time.Hour // however busy the machine is
	ctx := Interruptible()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	for range 20 { // its default action would end this process
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}
