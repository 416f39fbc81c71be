package lap_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/lap"
)

var update = flag.Bool("update", false, "write vectors/histogram anew from this implementation")

const vectorDir = "../vectors/histogram"

// A recording is one entry of record.json: values in, figures and encoding out. The
// Lua specs read the same file. Values are runs: first value in ns, step, how many
// values, times each is recorded.
type recording struct {
	Name            string
	Lowest, Highest int64
	Digits          int
	Values          [][4]int64
	Figures         figures
	Encoding        string
}

// A decoding is one entry of decode.json, mostly by other HdrHistogram libraries.
type decoding struct {
	Name     string
	Encoding string
	Invalid  bool     `json:",omitempty"`
	Figures  *figures `json:",omitempty"`
}

type figures struct {
	Count, Min, Max int64
	Mean            float64
	Percentiles     [][2]float64 // p, ns
}

func figuresOf(h *lap.Histogram) figures {
	f := figures{Count: h.Count(), Min: int64(h.Min()), Max: int64(h.Max()), Mean: h.Mean()}
	for _, p := range []float64{0, 1, 50, 90, 99, 99.9, 99.99, 100} {
		f.Percentiles = append(f.Percentiles, [2]float64{p, float64(h.Percentile(p))})
	}
	return f
}

// pairs are single values, each with the times it is recorded.
func pairs(list ...int64) (values [][4]int64) {
	for i := 0; i < len(list); i += 2 {
		values = append(values, [4]int64{list[i], 1, 1, list[i+1]})
	}
	return values
}

// everyBucket fills the default geometry: the encoding outgrows one stored block of zlib.
func everyBucket() [][4]int64 {
	values := [][4]int64{{0, 1, 2048, 65}}
	for width := int64(2); 2048*width < int64(time.Hour); width *= 2 {
		values = append(values, [4]int64{1024 * width, width, 1024, 64 + width%7})
	}
	return values
}

var recordings = []recording{
	{Name: "empty", Lowest: 1, Highest: int64(time.Hour), Digits: 3},
	{Name: "one", Lowest: 1, Highest: int64(time.Hour), Digits: 3, Values: pairs(42, 1)},
	{Name: "zero", Lowest: 1, Highest: int64(time.Hour), Digits: 3, Values: pairs(0, 3)},
	{Name: "ranks", Lowest: 1, Highest: int64(time.Hour), Digits: 3, Values: [][4]int64{{1, 1, 100, 1}}},
	{Name: "edges of buckets", Lowest: 1, Highest: int64(time.Hour), Digits: 3, Values: pairs(1023, 1, 1024, 1, 2047, 1, 2048, 1, 2049, 1, 2050, 1, 4095, 1, 4096, 1, 4099, 1, 4100, 1, 1<<20-1, 1, 1<<20, 1, int64(time.Hour), 1)},
	{Name: "out of range", Lowest: 1, Highest: int64(time.Hour), Digits: 3,
		Values: pairs(-17, 2, 7, 1, 1<<42, 1, 1<<50, 2)},
	{Name: "spread over decades", Lowest: 1, Highest: int64(time.Hour), Digits: 3, Values: pairs(3, 900, 31, 90_000, 314, 8000, 3141, 700, 31_415, 60, 314_159, 5, 3_141_592, 1)},
	{Name: "more counters than a stored block holds", Lowest: 1, Highest: int64(time.Hour), Digits: 3, Values: everyBucket()},
	{Name: "microseconds, 2 digits", Lowest: 1000, Highest: int64(time.Hour), Digits: 2,
		Values: pairs(1, 1, 511, 1, 512, 1, 1023, 1, 1024, 1, 65_535, 1, 131_072, 2, 999_999_999, 1)},
	{Name: "0 digits", Lowest: 1, Highest: 1000, Digits: 0, Values: pairs(0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 100, 1, 999, 1)},
	{Name: "4 digits over 62 bits", Lowest: 1, Highest: 1 << 62, Digits: 4, Values: pairs(1, 1, 20_000, 1, 40_001, 1, 1<<52, 1)},
}

func (r recording) histogram(t testing.TB) *lap.Histogram {
	h, err := lap.NewHistogramRange(time.Duration(r.Lowest), time.Duration(r.Highest), r.Digits)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Values {
		for i := range v[2] * v[3] {
			h.Record(time.Duration(v[0] + i/v[3]*v[1]))
		}
	}
	return h
}

// foreign are encodings that others wrote, with the values they say they hold.
func foreign(t testing.TB) []decoding {
	reference := hdrhistogram.New(1, int64(time.Hour), 3)
	for i := range int64(50_000) {
		if err := reference.RecordValue(i * i); err != nil {
			t.Fatal(err)
		}
	}
	compressed, err := reference.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return []decoding{
		{Name: "Java, (1, 1000, 0): 100", Encoding: "HISTFAAAAB14nJNpmSzMwMDAxIAKGCEU8wv7DxAWLxMASToDcw=="},
		{Name: "Java and C, (1, 2048, 3): 2048", Encoding: "HISTFAAAACB4nJNpmSzMwMDAzAABMJoRQnEw2H+AsP7LMwEARZgDpQ=="},
		{Name: "Python, the project's standard test histogram", Encoding: "HISTFAAAACF4nJNpmSzMwMDAzAABMJoRTM6Y1mD/ASLwN5oJAFuQBYU="},
		{Name: "Vala, (1, 300, 3): 100, 200, 250", Encoding: "HISTFAAAACV4nJNpmSzMwMDAwQABzFCaEUrp2H+AsI4zMh1lZEpkAgBdIQSk"},
		{Name: "Go, compressed, 50000 squares", Encoding: string(compressed)},
	}
}

var corrupt = []decoding{
	{Name: "nothing"},
	{Name: "not base64", Encoding: "HISTFA*AAAB14nJNpmSz"},
	{Name: "padding inside", Encoding: "HIST=AAAAB14"},
	{Name: "prefix alone", Encoding: "HISTFAAAAAA="},
	{Name: "version 1", Encoding: "HISTEwAAAB14nJNpmSzMwMDAxIAKGCEU8wv7DxAWLxMASToDcw=="},
	{Name: "negative length", Encoding: "HISTFP////94nJNpmSzMwMDAxIAKGCEU8wv7DxAWLxMASToDcw=="},
	{Name: "length beyond the end", Encoding: "HISTFAAAAP94nJNpmSzMwMDAxIAKGCEU8wv7DxAWLxMASToDcw=="},
	{Name: "early C, counts the header in the payload's length", Encoding: "HISTFAAAACl4nJNpmSzMwMBgyAABzFCaEURcm7yEwf4DROA8/4I5jNM7mJgAlWkH9g=="},
	{Name: "checksum", Encoding: "HISTFAAAAB14nJNpmSzMwMDAxIAKGCEU8wv7DxAWLxMASToDcA=="},
	{Name: "cut short", Encoding: "HISTFAAAABR4nJNpmSzMwMDAxIAKGCEU8wv7Dw=="},
}

func TestVectors(t *testing.T) {
	if *update {
		for i, r := range recordings {
			h := r.histogram(t)
			recordings[i].Figures, recordings[i].Encoding = figuresOf(h), h.Encode()
		}
		write(t, "record.json", recordings)
		entries := foreign(t)
		for i, e := range entries {
			h, err := lap.Decode(e.Encoding)
			if err != nil {
				t.Fatal(e.Name, err)
			}
			f := figuresOf(h)
			entries[i].Figures = &f
		}
		for _, e := range corrupt {
			e.Invalid = true
			entries = append(entries, e)
		}
		write(t, "decode.json", entries)
	}
	var kept []recording
	read(t, "record.json", &kept)
	if len(kept) != len(recordings) {
		t.Errorf("record.json holds %d entries, not %d: run go test ./lap -run Vectors -update", len(kept), len(recordings))
	}
	for _, r := range kept {
		t.Run(r.Name, func(t *testing.T) {
			h := r.histogram(t)
			if diff := cmp.Diff(r.Figures, figuresOf(h)); diff != "" {
				t.Error(diff)
			}
			if h.Encode() != r.Encoding {
				t.Error("encoding differs")
			}
			decoded, err := lap.Decode(r.Encoding)
			if err != nil {
				t.Fatal(err)
			}
			if decoded.Encode() != r.Encoding || decoded.Count() != h.Count() {
				t.Error("round trip differs")
			}
		})
	}
}

func TestDecodeVectors(t *testing.T) {
	var kept []decoding
	read(t, "decode.json", &kept)
	if len(kept) != len(corrupt)+len(foreign(t)) {
		t.Errorf("decode.json holds %d entries: run go test ./lap -run Vectors -update", len(kept))
	}
	for _, d := range kept {
		t.Run(d.Name, func(t *testing.T) {
			h, err := lap.Decode(d.Encoding)
			if d.Invalid {
				if err == nil || !strings.HasPrefix(err.Error(), "lap: histogram encoding: ") {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*d.Figures, figuresOf(h)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func write(t *testing.T, name string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	// One entry a line, so that a diff names the entry that changed.
	lines := strings.ReplaceAll(string(text), `},{"Name"`, "},\n"+`{"Name"`)
	if err := os.WriteFile(filepath.Join(vectorDir, name), []byte(lines+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string, v any) {
	text, err := os.ReadFile(filepath.Join(vectorDir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}
