package record

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"
)

// WriteBenchfmt writes the results in the Go benchmark format, which stock benchstat
// reads: one line a process, because one process is one sample. A case without a
// figure has no line. The iteration count is 1, as results keep no calls per process
// and no reader of the format weighs by it.
//
// The file configuration holds only what must be equal for a comparison to make
// sense: benchstat puts results that differ in it into different tables.
func WriteBenchfmt(w io.Writer, r *Results) error {
	out := benchfmt.NewWriter(w)
	write := func(rec benchfmt.Record) error {
		if err := out.Write(rec); err != nil {
			return fmt.Errorf("write benchfmt: %w", err)
		}
		return nil
	}
	for _, m := range []benchfmt.UnitMetadata{
		unitMetadata("ns/op", "better", "lower"),
		unitMetadata("B/op", "better", "lower"),
		unitMetadata("B/op", "assume", "exact"), // one figure a case, the same on each line
	} {
		if err := write(&m); err != nil {
			return err
		}
	}
	config := benchConfig(r)
	names := benchNames(r)
	for i, c := range r.Cases {
		if c.NSPerCall == nil {
			continue
		}
		for _, sample := range perProcess(c) {
			res := &benchfmt.Result{Config: append(slices.Clip(config), packageConfig(c)...), Name: benchfmt.Name(names[i]), Iters: 1}
			res.Values = append(res.Values, benchfmt.Value{Value: sample.ns, Unit: "ns/op"})
			if c.BytesPerCall != nil {
				res.Values = append(res.Values, benchfmt.Value{Value: *c.BytesPerCall, Unit: "B/op"})
			}
			for _, unit := range slices.Sorted(maps.Keys(sample.metrics)) {
				res.Values = append(res.Values, benchfmt.Value{Value: sample.metrics[unit], Unit: unit})
			}
			if err := write(res); err != nil {
				return err
			}
		}
	}
	return nil
}

func unitMetadata(unit, key, value string) benchfmt.UnitMetadata {
	return benchfmt.UnitMetadata{
		UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: key},
		OrigUnit:        unit, Value: value,
	}
}

// packageConfig is what go test says of a Go benchmark's package.
func packageConfig(c CaseResult) []benchfmt.Config {
	if c.Case.Package == "" {
		return nil
	}
	return []benchfmt.Config{{Key: "pkg", Value: []byte(c.Case.Package), File: true}}
}

func benchConfig(r *Results) []benchfmt.Config {
	var config []benchfmt.Config
	set := func(key, value string) {
		// A line break would end the value, an empty value delete the key.
		if value = strings.Join(strings.Fields(value), " "); value != "" {
			config = append(config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	set("goos", r.Environment.OS)
	set("goarch", r.Environment.Arch)
	set("cpu", r.Environment.CPU)
	if r.Runtime != nil && r.Runtime.Kind == "go" {
		return config // as go test has it, so that its own results stand in the same table
	}
	if r.Runtime != nil {
		set("runtime", r.Runtime.Kind)
	}
	var vms []string
	for _, vm := range r.VMs {
		vms = append(vms, strings.TrimSpace(vm.Version+" "+vm.Build))
	}
	set("vm", strings.Join(vms, ", "))
	if r.Nginx != nil {
		set("nginx", r.Nginx.Version)
		set("lua-module", r.Nginx.LuaModule)
	}
	return config
}

// A sample is what one process found: ns per call, and its other metrics by unit.
type sample struct {
	ns      float64
	metrics map[string]float64
}

// perProcess is one sample a process, in order of start. The workers of a process share
// its draws and their machine, so their mean is one sample.
func perProcess(c CaseResult) []sample {
	var order []int
	metrics := map[int]map[string]float64{}
	sum, n := map[int]float64{}, map[int]float64{}
	for _, p := range c.PerProcess {
		if n[p.Process] == 0 {
			order = append(order, p.Process)
		}
		sum[p.Process] += p.NS
		n[p.Process]++
		metrics[p.Process] = p.Metrics
	}
	samples := make([]sample, len(order))
	for i, p := range order {
		samples[i] = sample{sum[p] / n[p], metrics[p]}
	}
	return samples
}

// benchNames makes the cases' names fit for the format, which ends a name at the
// first space: such characters become "_". Names that this makes equal are reported
// apart by "#01", … as go test does. The "-N" at the end stands where Go puts
// GOMAXPROCS, so that a name's own "-8" is not taken for it; it is the number of
// workers. Of a Go benchmark it is GOMAXPROCS, and go test leaves a 1 out.
func benchNames(r *Results) []string {
	taken := map[string]bool{}
	names := make([]string, len(r.Cases))
	for i, c := range r.Cases {
		clean := benchName(c.Name)
		name := clean
		for n := 1; taken[name]; n++ {
			name = fmt.Sprintf("%s#%02d", clean, n)
		}
		taken[name] = true
		names[i] = fmt.Sprintf("%s-%d", name, max(1, c.Case.Workers))
		if len(r.VMs) > 0 && r.VMs[0].Go() {
			names[i] = name
			if procs := r.VMs[0].GOMAXPROCS; procs > 1 {
				names[i] = fmt.Sprintf("%s-%d", name, procs)
			}
		}
	}
	return names
}

func benchName(name string) string {
	if name == "" {
		return "_"
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	// The format wants an upper case letter after "Benchmark"; benchstat does not insist.
	first, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[n:]
}
