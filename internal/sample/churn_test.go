package sample

import (
	"slices"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/runtime/luajittest"
)

// churn compiles and flushes thousands of traces a second: each loop is compiled anew after each flush.
const churn = `
local loops = {}
for n = 1, 40 do
    loops[n] = assert(loadstring(([[
        local x = ...
        for i = 1, 80 do
            x = x / (%d + i)
            if i %% %d == 0 then x = x * 0.5 end
            x = 1 + x * 1e-9
        end
        return x
    ]]):format(n, n % 7 + 2)))
end
jit.opt.start("hotloop=2", "hotexit=2")
local x = 1
while true do
    for n = 1, 40 do x = loops[n](x) end
    jit.flush()
end
`

// BenchmarkChurn is what samples of a VM wait for that compiles and flushes thousands of traces a second, beside one whose traces stay:
// how long the sampler takes for a sample, and how old the oldest sample is before it is read. The kernel keeps them meanwhile.
func BenchmarkChurn(b *testing.B) {
	steady := "local function work(x) for i = 1, 1e7 do x = 1 + (x / (x + i)) * 1e-9 end return x end local x = 1 while true do x = work(x) end"
	for _, load := range []struct{ name, code string }{{"steady", steady}, {"churn", churn}} {
		b.Run(load.name, func(b *testing.B) {
			w := awaitMachine(b, luajittest.Script(b, load.code).Process.Pid)
			s, err := NewSampler()
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var took, waited []time.Duration
			for b.Loop() {
				sampling, err := w.Sampling(s, Wants{Hz: 997})
				if err != nil {
					b.Fatal(err)
				}
				sampling.Take(probe.OnCPU, func(m *probe.Snapshot) {
					began := time.Now()
					waited = append(waited, probe.Now()-m.Time)
					sampling.Sample(m)
					took = append(took, time.Since(began))
				})
				series, err := sampling.Run(b.Context(), 10*time.Second, func(time.Duration) {}, func() {})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(series.Lost), "lost")
			}
			for name, all := range map[string][]time.Duration{"took": took, "waited": waited} {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs-"+name+"-median")
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "µs-"+name+"-p99")
				b.ReportMetric(float64(all[len(all)-1].Microseconds()), "µs-"+name+"-most")
			}
			b.ReportMetric(float64(len(took)), "samples")
		})
	}
}
