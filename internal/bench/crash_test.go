package bench

import (
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

func TestCrashAtTheMemoryLimitIsAMemoryFault(t *testing.T) {
	crash := record.Fault{Kind: record.FaultCrash, Text: "killed by SIGSEGV"}
	for _, test := range []struct {
		name       string
		rss, limit int64
		want       string
	}{
		{"far below", 60 << 20, 200 << 20, record.FaultCrash},
		{"a table could not double", 130 << 20, 200 << 20, record.FaultMemory},
		{"at the limit", 202 << 20, 200 << 20, record.FaultMemory},
		{"no limit", 8 << 30, 0, record.FaultCrash},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := explainCrash(crash, record.Exit{MaxRSS: test.rss}, test.limit)
			if f.Kind != test.want {
				t.Errorf("a %s fault, want %s", f.Kind, test.want)
			}
			if !strings.HasPrefix(f.Text, crash.Text) {
				t.Errorf("%q lost what was said first", f.Text)
			}
			if f.Kind == record.FaultMemory && !strings.Contains(f.Text, "200 MiB that --memory allows") {
				t.Errorf("%q names no limit", f.Text)
			}
		})
	}
}
