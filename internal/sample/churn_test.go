package sample

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
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

// chunks is how many chunks the script of TestFlushed has; firstCall is the line in which it calls the first one. One of nine lines of a
// chunk divides.
const (
	chunks    = 40
	firstCall = 13
)

func flushing() string {
	var b strings.Builder
	b.WriteString(`local chunks = {}
for n = 0, 39 do
    local lines = {}
    for k = 1, 9 do lines[k] = k == n % 9 + 1 and "x = 1 / (x + 2) x = 1 / (x + 3) x = 1 / (x + 4) x = 1 / (x + 5)" or "y = y + " .. k end
    chunks[n] = assert(loadstring(([[
local x, y = ..., 0
for i = 1, 10000 do
%s
end
return x + y * 1e-9]]):format(table.concat(lines, "\n")), "=chunk" .. n))
end
local function call(n, x)
`)
	for n := range chunks {
		fmt.Fprintf(&b, "if n == %d then x = chunks[%d](x) end\n", n, n)
	}
	b.WriteString(`return x
end
jit.off(call)
jit.opt.start("hotloop=2")
local x = 1
while true do
    for _ = 1, math.random(10, 400) do x = call(math.random(0, 39), x) end
    jit.flush()
end
`)
	return b.String()
}

// TestFlushed: of a VM that compiles and flushes thousands of traces a second, whose memory others take at once, no sample has a line of
// another trace: the line in which the script has called the chunk tells which one it was.
func TestFlushed(t *testing.T) {
	s := sampler(t)
	w := awaitMachine(t, luajittest.Script(t, flushing()).Process.Pid)
	compiled, named, right, other, lineless, failed := 0, 0, 0, 0, 0, 0
	for end := time.Now().Add(time.Minute); compiled < 1000 && time.Now().Before(end); {
		series, err := w.Ticks(t.Context(), s, time.Second, 997, noTick)
		if err != nil {
			t.Fatal(err)
		}
		failed += series.Failed
		for _, one := range series.Samples {
			i := slices.IndexFunc(one.Stack, func(f profile.Frame) bool { return f.Kind == profile.Lua })
			if one.State != luajit.Compiled || i < 0 || i+1 >= len(one.Stack) {
				continue
			}
			compiled++
			f, caller := one.Stack[i], one.Stack[i+1]
			n := caller.Line - firstCall
			switch {
			case f.Line == 0 || f.Line == f.FirstLine:
				lineless++
			case f.File != fmt.Sprint("chunk", n):
				other++
				t.Logf("%s:%d, called in line %d", f.File, f.Line, caller.Line)
			case !f.Range():
				named++
				if f.Line == 3+n%9 {
					right++
				}
			}
		}
	}
	t.Logf("%d samples in compiled code: %d with a line, %d of them the one that divides, %d without; %d failed", compiled, named, right, lineless, failed)
	if compiled < 1000 || other > 0 || right*10 < named*8 {
		t.Errorf("%d samples in compiled code: %d of other chunks; %d with a line, %d of them the one that divides", compiled, other, named, right)
	}
}

// TestEnded: what the kernel has copied of a command that has ended meanwhile has its lines, from what was read of its traces before.
func TestEnded(t *testing.T) {
	for name, known := range map[string]bool{"known operations": true, "others": false} {
		t.Run(name, func(t *testing.T) { ended(t, known) })
	}
}

func ended(t *testing.T, known bool) {
	cmd := luajittest.Script(t, `
local function work(x)
    for i = 1, 1e7 do
        x = 1 / (x + 0.1)
    end
    return x
end
local kept = {} -- so that the trace lies in no page that is read for another reason
for i = 1, 1e5 do kept[i] = {i} end
local x = 1
while true do x = work(x) end
`)
	w := awaitMachine(t, cmd.Process.Pid)
	w.VM.Layout.KnownIR = known
	sampling, err := w.Sampling(sampler(t), Wants{Hz: 997})
	if err != nil {
		t.Fatal(err)
	}
	before, after, lineless, ended := 0, 0, 0, false
	const enough = 20 // that wait while it ends
	sampling.Take(probe.OnCPU, func(m *probe.Snapshot) {
		s, ok := sampling.Sample(m)
		i := slices.IndexFunc(s.Stack, func(f profile.Frame) bool { return f.Kind == profile.Lua })
		switch {
		case !ok || i < 0 || s.State != luajit.Compiled:
		case ended:
			if after++; s.Stack[i].Line != 4 && s.Stack[i].Line != 3 {
				lineless++
			}
		default:
			before++
		}
		if !ended && before >= enough && len(sampling.Source.Snapshots()) >= enough {
			cmd.Process.Kill()
			for !w.Ended() {
				time.Sleep(time.Millisecond)
			}
			ended = true
		}
	})
	_, err = sampling.Run(t.Context(), time.Minute, func(time.Duration) {}, func() {})
	t.Logf("%d samples before its end, %d after, %d of them without a line: %v", before, after, lineless, err)
	if after == 0 || lineless > 0 {
		t.Errorf("%d samples after its end, %d without a line", after, lineless)
	}
}
