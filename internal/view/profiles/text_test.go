package profiles

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestProfileRates: what failed was a look too, and rates are those of the time that was looked.
func TestProfileRates(t *testing.T) {
	var b bytes.Buffer
	err := Draw(&b, &profile.Profile{Head: profile.Head{
		PIDs: []int{1, 2}, Mode: "wall", Duration: 4 * time.Second, Hz: 99, Taken: 300, Samples: 290, Failed: 10,
		Elapsed: 6 * time.Second, Paused: 60 * time.Millisecond, Used: time.Second,
	}}, "", ui.Options{Width: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"300 in 4", "50 a second at each worker, of 99 wanted", "10 more failed", "1 % of its time", "25 % of one processor"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// TestProfileMissing: what is missing of samples of the kernel is reported in per cent, or that nothing is.
func TestProfileMissing(t *testing.T) {
	for _, c := range []struct {
		lost, failed, partial int
		want                  []string
	}{
		{0, 0, 0, []string{"1,000 in 4", "25 % of one processor · one in each 10.0 ms of CPU time, through eBPF"}},
		{250, 10, 50, []string{
			"1,250 in 4", "20 % of the samples (250) not taken", "0.8 % of the samples (10) without a Lua stack",
			"4 % of the samples (50) without all C frames",
		}},
		{0, 0, 1, []string{"0.1 % of the samples (1) without all C frames"}},
	} {
		var b bytes.Buffer
		err := Draw(&b, &profile.Profile{Head: profile.Head{
			PIDs: []int{1}, Mode: "on-cpu", By: "ebpf", Note: "hidden", Duration: 4 * time.Second, Hz: 100, Taken: 1000, Lost: c.lost,
			Elapsed: 4 * time.Second, Used: time.Second, Samples: 1000 - c.failed, Failed: c.failed, Partial: c.partial,
		}}, "", ui.Options{Width: 300})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.want, "kernel   hidden") {
			if !strings.Contains(strings.ReplaceAll(b.String(), "\u00a0", " "), want) {
				t.Errorf("%q is not in\n%s", want, b.String())
			}
		}
		if nothing := c.lost+c.failed+c.partial == 0; nothing == strings.Contains(b.String(), "missing") {
			t.Errorf("what is missing of %+v:\n%s", c, b.String())
		}
	}
}
