package jit

import (
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// FuzzTrace reads traces of which some bytes are others: what comes of it is an error, or places in functions that are there, in time.
func FuzzTrace(f *testing.F) {
	all := vectors(f)
	for n := range all {
		f.Add(uint16(n), uint32(0x0c), byte(0xff), uint32(0x58), byte(1))
		f.Add(uint16(n), uint32(0x2c0+uint32(n)), byte(n), uint32(0x100+7*uint32(n)), byte(0x80))
	}
	f.Fuzz(func(t *testing.T, n uint16, at uint32, a byte, other uint32, b byte) {
		v := *all[int(n)%len(all)]
		size := 0
		v.Parts = append([]part(nil), v.Parts...)
		for i := range v.Parts {
			v.Parts[i].Bytes = append([]byte(nil), v.Parts[i].Bytes...)
			size += len(v.Parts[i].Bytes)
		}
		for _, change := range []struct {
			at int
			to byte
		}{{int(at) % size, a}, {int(other) % size, b}} {
			for i := range v.Parts {
				if one := v.Parts[i].Bytes; change.at < len(one) {
					one[change.at] = change.to
					break
				}
				change.at -= len(v.Parts[i].Bytes)
			}
		}
		began := time.Now()
		trace, err := Read(&v, v.Address)
		if err != nil {
			return
		}
		m := NewMap(trace, &v, 0)
		for offset := range trace.Code {
			place, ok := m.Sampled(offset)
			if !ok {
				continue
			}
			for _, c := range place {
				p := v.Proto(c.Proto)
				if p == nil || !p.contains(c.From) || !p.contains(c.To) || c.To < c.From {
					t.Fatalf("%s: %+v", v.Name, c)
				}
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Fatalf("%s took %v", v.Name, took)
		}
	})
}

func BenchmarkMap(b *testing.B) {
	all := vectors(b)
	bytes := 0
	for _, v := range all {
		trace, err := Read(v, v.Address)
		if err != nil {
			b.Fatal(err)
		}
		bytes += len(trace.Code)
	}
	for b.Loop() {
		for _, v := range all {
			trace, _ := Read(v, v.Address)
			NewMap(trace, v, 0)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all)), "ns/trace")
	b.ReportMetric(float64(bytes)/float64(len(all)), "code-B/trace")
}

// BenchmarkSampled is what a later sample of a trace costs: its head is compared, and its place looked up.
func BenchmarkSampled(b *testing.B) {
	v := vectors(b)[0]
	trace, err := Read(v, v.Address)
	if err != nil {
		b.Fatal(err)
	}
	m := NewMap(trace, v, 0)
	for n := 0; b.Loop(); n++ {
		ReadHead(&process.Reader{Memory: v}, v.Address)
		m.Sampled(n % len(trace.Code))
	}
}
