package profile

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
)

func memoryExample() *Profile {
	p := &Profile{Head: Head{Title: "heap", Unit: Bytes}}
	cache := Frame{Function: `package.loaded["app.cache"] table`, Kind: Tables}
	p.Add([]Frame{cache}, nil, 4096)
	p.Add([]Frame{cache, {Function: "[…] string", Kind: Strings}}, nil, 1_200_000)
	p.Merge()
	return p
}

// TestBytes: every format says that it counts bytes, and no time is made of them.
func TestBytes(t *testing.T) {
	write := func(format string) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := memoryExample().Write(&b, format, ""); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if got, want := string(write("folded")), "package.loaded[\"app.cache\"] table 4096\n"+
		"package.loaded[\"app.cache\"] table;[…] string 1200000\n"; got != want {
		t.Errorf("folded:\n%s", got)
	}
	p, err := pprof.Parse(bytes.NewReader(write("pprof")))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.SampleType) != 1 || p.SampleType[0].Unit != "bytes" || p.Sample[0].Value[0] != 1_200_000 {
		t.Errorf("pprof: %v, %v", p.SampleType, p.Sample)
	}
	var file struct {
		Profiles []struct {
			Unit     string
			EndValue int64
		}
	}
	if err := json.Unmarshal(write("speedscope"), &file); err != nil || file.Profiles[0].Unit != "bytes" || file.Profiles[0].EndValue != 1_204_096 {
		t.Errorf("speedscope: %+v, %v", file, err)
	}
	svg := string(write("svg"))
	for _, want := range []string{"1.20 MB, 99.7 %", ">tables</text>", ">strings</text>", `fill="#7cc576"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	if strings.Contains(svg, "samples") {
		t.Error("the picture speaks of samples")
	}
	if html := string(write("html")); !strings.Contains(html, `"unit":"bytes"`) {
		t.Error("the page does not know that it is about bytes")
	}
}

func TestAmount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 9999: "9999 B", 12_345: "12.3 kB", 1_204_096: "1.20 MB", 3_500_000_000: "3.50 GB"} {
		if got := Bytes.amount(n); got != want {
			t.Errorf("%d bytes are %q, not %q", n, got, want)
		}
	}
	if got := Unit("").amount(3); got != "3 samples" {
		t.Error(got)
	}
}
