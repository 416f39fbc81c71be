package record

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"
	"pgregory.net/rapid"
)

func results(names ...string) *Results {
	r := &Results{
		Schema: Schema, Kind: "bench", Complete: true,
		Environment: Environment{OS: "linux", Arch: "amd64", CPU: "AMD EPYC"},
		Runtime:     &Runtime{Kind: "nginx", Version: "nginx version: nginx/1.22.1"},
		VMs:         []VM{{Version: "LuaJIT 2.1.0-beta3", Build: "debian\n1"}},
		Nginx:       &Nginx{Version: "1.22.1", LuaModule: "0.10.23"},
	}
	bytes := 32.0
	for i, name := range names {
		r.Cases = append(r.Cases, CaseResult{
			Name: name, Case: Case{Case: i, Name: name},
			NSPerCall:    &Distribution{Interval: Interval{Estimate: 6.5, Low: 6.25, High: 7}, Max: 12345678.5},
			BytesPerCall: &bytes, Processes: 8, Steady: SteadyWarmup,
			PerProcess: processes(6.5, 7.5, 6.25, 6.125, 6, 6.75, 7, 8),
			JIT:        JITSummary{RootTraces: 1, SideTraces: 2.5, Aborts: []Abort{{Count: 2}, {Count: 3}}, Compiled: "partly"},
		})
	}
	return r
}

func processes(ns ...float64) []ProcessResult {
	var p []ProcessResult
	for i, x := range ns {
		p = append(p, ProcessResult{Process: i + 1, NS: x})
	}
	return p
}

func TestWriteJSON(t *testing.T) {
	r := results("a<b")
	r.Cases[0].JIT.Aborts = nil
	var a, b bytes.Buffer
	if err := errors.Join(WriteJSON(&a, r), WriteJSON(&b, r)); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() || !strings.HasPrefix(a.String(), "{\n  \"schema\": \"moonlap/1\",\n") {
		t.Errorf("not stable, or not indented:\n%s", a.String())
	}
	if !strings.Contains(a.String(), `"a<b"`) {
		t.Error("the name is escaped")
	}
	var back struct{ Warnings, Comparisons, Cases []any }
	if err := json.Unmarshal(a.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	jit := back.Cases[0].(map[string]any)["jit"].(map[string]any)
	if back.Warnings == nil || back.Comparisons == nil || jit["aborts"] == nil {
		t.Errorf("a list is null:\n%s", a.String())
	}
	if r.Warnings != nil || r.Cases[0].JIT.Aborts != nil {
		t.Error("the caller's results were changed")
	}
	r.Cases[0].NSPerCall.High = math.NaN()
	if err := WriteJSON(&a, r); err == nil {
		t.Error("NaN was written as JSON")
	}
}

func TestWriteCSV(t *testing.T) {
	r := results(`say "hi", twice`, "none")
	r.Cases[0].Params = map[string]any{"size": 1e6, "how": "a,b"}
	r.Cases[1].NSPerCall, r.Cases[1].BytesPerCall = nil, nil
	r.Cases[1].Warnings = []Warning{{Code: "not_steady"}, {Code: "few_processes"}}
	var b bytes.Buffer
	if err := WriteCSV(&b, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\r\n"); n != 3 {
		t.Errorf("%d lines end as RFC 4180 says, want 3:\n%q", n, b.String())
	}
	got, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		append(append([]string{}, csvColumns...), "params.how", "params.size"),
		{`say "hi", twice`, "6.5", "6.25", "7", "0", "0", "0", "0", "12345678.5", "32", "8", "0", "warmup", "0", "1", "2.5", "5", "partly", "", "a,b", "1000000"},
		{"none", "", "", "", "", "", "", "", "", "", "8", "0", "warmup", "0", "1", "2.5", "5", "partly", "not_steady few_processes", "", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func readBenchfmt(t interface{ Fatal(...any) }, b []byte) (results []*benchfmt.Result, units benchfmt.UnitMetadataMap) {
	r := benchfmt.NewReader(bytes.NewReader(b), "mem")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			results = append(results, rec.Clone())
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return results, r.Units()
}

func TestBenchfmtNames(t *testing.T) {
	names := []string{
		"re.find/subject=short", "re find", "re_find", "re\tfind", "Re_find#01", "ключ/größe=5", "quote\"'`",
		"a=b/c==d", "copy-8", "", "月/ラップ=一 周", "\x00\xff", "/leading", "-1", "8", "nbsp\u00a0\u2028x",
	}
	r := results(names...)
	var b bytes.Buffer
	if err := WriteBenchfmt(&b, r); err != nil {
		t.Fatal(err)
	}
	got, units := readBenchfmt(t, b.Bytes())
	if len(got) != 8*len(names) {
		t.Fatalf("%d results of %d cases with 8 processes", len(got), len(names))
	}
	seen := map[string]bool{}
	for i := range names {
		of := got[8*i : 8*i+8]
		name := of[0].Name.String()
		if seen[name] {
			t.Errorf("the name %q stands for two cases", name)
		}
		seen[name] = true
		if _, parts := of[0].Name.Parts(); string(parts[len(parts)-1]) != "-1" {
			t.Errorf("name %q: its end is not read as GOMAXPROCS: %q", name, parts)
		}
		for j, p := range r.Cases[i].PerProcess {
			ns, ok := of[j].Value("ns/op")
			if !ok {
				s, _ := of[j].Value("sec/op")
				ns = s * 1e9
			}
			if math.Abs(ns-p.NS) > 1e-9 || of[j].Name.String() != name {
				t.Errorf("process %d of %q: %v ns/op, want %v", j, of[j].Name, ns, p.NS)
			}
		}
	}
	for _, want := range []string{"Re.find/subject=short-1", "Re_find-1", "Re_find#01-1", "Re_find#02-1", "Re_find#01#01-1", "Ключ/größe=5-1"} {
		if !seen[want] {
			t.Errorf("no name %q in %v", want, seen)
		}
	}
	if config := got[0].GetConfig("vm"); config != "LuaJIT 2.1.0-beta3 debian 1" {
		t.Errorf("vm: %q", config)
	}
	if better := units.GetBetter("B/op"); better != -1 {
		t.Errorf("B/op is better %d", better)
	}
}

func TestBenchfmtNamesStayApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.SampledFrom([]rune("aA _#01-/=é")), 0, 6, -1), 1, 20, rapid.ID).Draw(t, "names")
		var b bytes.Buffer
		if err := WriteBenchfmt(&b, results(names...)); err != nil {
			t.Fatal(err)
		}
		got, _ := readBenchfmt(t, b.Bytes())
		seen := map[string]bool{}
		for _, r := range got {
			seen[r.Name.String()] = true
		}
		if len(seen) != len(names) {
			t.Fatalf("%d cases became %d", len(names), len(seen))
		}
	})
}

func TestBenchfmtOneLineAProcess(t *testing.T) {
	r := results("shdict", "failed")
	r.Cases[0].Case.Workers = 2
	r.Cases[0].PerProcess = []ProcessResult{{Process: 4, NS: 10}, {Process: 4, Worker: 1, NS: 20}, {Process: 9, NS: 30}}
	r.Cases[1].NSPerCall = nil // has per-process values, but they make no figure
	var b bytes.Buffer
	if err := WriteBenchfmt(&b, r); err != nil {
		t.Fatal(err)
	}
	_, lines, _ := strings.Cut(b.String(), "\n\n")
	want := "BenchmarkShdict-2 1 15 ns/op 32 B/op\nBenchmarkShdict-2 1 30 ns/op 32 B/op\n"
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Stock benchstat, at the version go.mod pins, reads our file and finds the change.
func TestBenchstatAcceptsIt(t *testing.T) {
	dir := t.TempDir()
	for i, file := range []string{"old", "new"} {
		r := results("re find/size=5", "größe")
		for c := range r.Cases {
			for p := range r.Cases[c].PerProcess {
				r.Cases[c].PerProcess[p].NS *= float64(1 + i)
			}
		}
		var b bytes.Buffer
		if err := WriteBenchfmt(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "tool", "benchstat", filepath.Join(dir, "old"), filepath.Join(dir, "new")).CombinedOutput()
	if err != nil {
		t.Fatalf("benchstat: %v\n%s", err, out)
	}
	text := string(out)
	for _, want := range []string{"cpu: AMD EPYC", "vm: LuaJIT 2.1.0-beta3", "Re_find/size=5-1", "Größe-1", "+100.00% (p=0.000 n=8)", "sec/op", "B/op"} {
		if !strings.Contains(text, want) {
			t.Errorf("benchstat's table lacks %q", want)
		}
	}
	if strings.Contains(text, "need") || strings.Count(text, "goos:") != 1 {
		t.Error("benchstat warns, or splits the table")
	}
	if t.Failed() {
		fmt.Println(text)
	}
}
