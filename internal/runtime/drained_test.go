package runtime

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// TestReadChannelAfterItsTime: lines that were written in time are read, however late, and while somebody holds the
// other end; who goes on to write is not listened to for ever.
func TestReadChannelAfterItsTime(t *testing.T) {
	for _, endless := range []bool{false, true} {
		reads, writes, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		const lines = 700 // more than are read at once, fewer than fill the pipe
		for i := range lines {
			fmt.Fprintf(writes, "{\"type\":\"load_done\",\"stop\":\"duration\",\"elapsed_ns\":%d,\"switches\":3}\n", i)
		}
		done := make(chan bool)
		go func() {
			for endless {
				if _, err := fmt.Fprintln(writes, `{"type":"load_done","stop":"duration"}`); err != nil {
					break
				}
			}
			close(done)
		}()
		reads.SetReadDeadline(time.Now().Add(-time.Second))
		seen := 0
		readChannel(untilDrained(reads), record.In{}, func(l record.Line) {
			if done, ok := l.(record.LoadDone); ok && seen < lines && done.ElapsedNS != float64(seen) {
				t.Errorf("line %d is %+v", seen, done)
			}
			seen++
		})
		if seen < lines || !endless && seen > lines {
			t.Errorf("%d of %d lines", seen, lines)
		}
		reads.Close()
		<-done
		writes.Close()
	}
}
