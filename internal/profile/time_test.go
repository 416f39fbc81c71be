package profile

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

func timeExample() *Profile {
	p := &Profile{Head: Head{Title: "asleep", Unit: Time, Period: time.Millisecond}}
	p.Add([]Frame{{Function: "nap", File: "app.lua", Line: 3, Kind: Lua}}, map[string]string{"cause": "a time (nanosleep)"}, 2_500_000_000)
	p.Add([]Frame{{Function: "(waiting for a processor)", Kind: Kernel}}, nil, 40_000)
	p.Merge()
	return p
}

// TestTime: every format has the time as it was measured, and makes none of it by the period.
func TestTime(t *testing.T) {
	write := func(format string) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := timeExample().Write(&b, format, ""); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if got, want := string(write("folded")), "(waiting for a processor)_[k] 40000\nnap@app.lua:3 2500000000\n"; got != want {
		t.Errorf("folded:\n%s", got)
	}
	p, err := pprof.Parse(bytes.NewReader(write("pprof")))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.SampleType) != 1 || p.SampleType[0].Unit != "nanoseconds" || p.Sample[0].Value[0] != 2_500_000_000 {
		t.Errorf("pprof: %v, %v", p.SampleType, p.Sample)
	}
	var file struct {
		Profiles []struct {
			Unit     string
			EndValue int64
		}
	}
	if err := json.Unmarshal(write("speedscope"), &file); err != nil || file.Profiles[0].Unit != "nanoseconds" || file.Profiles[0].EndValue != 2_500_040_000 {
		t.Errorf("speedscope: %+v, %v", file, err)
	}
	if svg := string(write("svg")); !strings.Contains(svg, "2.50 s, 100.0 %") || strings.Contains(svg, "samples") {
		t.Error("the picture does not speak of 2.50 s")
	}
	if html := string(write("html")); !strings.Contains(html, `"unit":"ns"`) || !strings.Contains(html, `"period":1,`) {
		t.Error("the page does not know that it is about time")
	}
	again, err := ReadJSON(write("json"))
	if err != nil {
		t.Fatal(err)
	}
	if again.Unit != Time || again.Total() != 2_500_040_000 {
		t.Errorf("read again: %+v", again)
	}
	for n, want := range map[int64]string{40_000: "40.0 µs", 2_500_000: "2.5 ms", 2_500_000_000: "2.50 s"} {
		if got := Time.amount(n); got != want {
			t.Errorf("%d ns are %q, not %q", n, got, want)
		}
	}
}
