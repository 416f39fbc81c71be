package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// title names the run.
func (p *page) title(res *record.Results) {
	kind := res.Kind
	if kind != "" {
		kind = " " + ui.Clean(kind)
	}
	p.Line(p.Strong.Render("moonlap"+kind) + p.Faint.Render(p.Dot+fmt.Sprintf("seed %d", res.Seed)))
}

// measuredWith says on what the figures were taken. It is the same from run to run, so it comes last.
func (p *page) measuredWith(res *record.Results) {
	var with []string
	for _, vm := range res.VMs {
		with = append(with, p.vm(vm))
	}
	if runtime := p.runtime(res); len(with) == 0 || !strings.HasPrefix(with[0], runtime) { // a VM by itself names itself
		with = append([]string{runtime}, with...)
	}
	p.Blank()
	p.Fact("with", p.Join(with...))
	p.Fact("on", p.Join(p.machine(res.Environment), p.clock(res.Clock)))
}

func (p *page) runtime(res *record.Results) string {
	var parts []string
	if rt := res.Runtime; rt != nil {
		switch {
		case res.Nginx != nil:
			parts = append(parts, "nginx "+ui.Clean(res.Nginx.Version))
		case rt.Version != "":
			parts = append(parts, ui.Clean(rt.Version))
		default:
			parts = append(parts, ui.Clean(rt.Kind))
		}
		if rt.OpenResty != "" {
			parts = append(parts, "OpenResty "+ui.Clean(rt.OpenResty))
		}
	}
	if n := res.Nginx; n != nil {
		parts = append(parts, "Lua module "+ui.Clean(n.LuaModule), phase(n))
	}
	return p.Join(parts...)
}

func phase(n *record.Nginx) string {
	if n.Phase == "" {
		return ""
	}
	s := "phase " + ui.Clean(n.Phase)
	if n.Process != "" {
		s += " in a " + ui.Clean(n.Process)
		if n.Process == "single" {
			s += " process"
		}
	}
	return s
}

// measuredOn is a host on which a part of a result was measured.
func (p *page) measuredOn(name string, e record.Environment, complete bool) {
	p.Fact(ui.Clean(name), p.Join(p.machine(e), ui.When(!complete, "partial result")))
}

func (p *page) vm(vm record.VM) string {
	if vm.Go() {
		return p.Join(fmt.Sprintf("%s %s, GOMAXPROCS %d", ui.Clean(vm.Version), ui.Clean(vm.Arch), vm.GOMAXPROCS), ui.Clean(vm.Build))
	}
	version := ui.Clean(vm.Version)
	if build := ui.Clean(vm.Build); build != "" {
		version += " (" + build + ")"
	}
	jit := "JIT off, all is interpreted"
	if vm.JIT {
		jit = "jit.opt " + ui.Clean(jitOpt(vm.Opt))
	}
	var params []string
	for _, name := range slices.Sorted(maps.Keys(vm.Params)) {
		params = append(params, fmt.Sprintf("%s=%v", ui.Clean(name), vm.Params[name]))
	}
	return p.Join(version, ui.Clean(vm.Arch), ui.When(vm.GC64, "GC64"), jit, strings.Join(params, " "), ui.Clean(vm.Library))
}

// allOptimizations are those of LuaJIT's default level, -O3.
const allOptimizations = "fold cse dce fwd dse narrow loop abc sink fuse"

// jitOpt is jit.status without the CPU's features, which are in upper case; the
// default by its short name.
func jitOpt(flags []string) string {
	opt := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return strings.ToLower(f) != f })
	if s := strings.Join(opt, " "); s != allOptimizations {
		return s
	}
	return "-O3"
}

func (p *page) clock(c *record.Clock) string {
	if c == nil {
		return ""
	}
	name := cmp.Or(map[string]string{"tsc": "time-stamp counter", "monotonic": "monotonic clock"}[c.Source], ui.Clean(c.Source))
	if c.Reason != "" {
		name += " (" + ui.Clean(c.Reason) + ")"
	}
	return p.Join(name, "steps of "+p.Time(c.StepNS), "a read costs "+p.Time(c.CostNS)+ui.When(!c.Compiled, ", interpreted"))
}

func (p *page) machine(e record.Environment) string {
	load, steal := "", ""
	if len(e.Load) > 0 {
		load = "load " + ui.Fixed(e.Load[0], 2)
	}
	if e.StealPercent != nil && *e.StealPercent >= 0.05 {
		steal = "steal " + ui.Percent(*e.StealPercent/100)
	}
	return p.Join(ui.Clean(e.CPU), ui.When(e.Cores > 0, ui.Plural(e.Cores, "core", "cores")),
		ui.When(e.Virtualization != "", "virtual ("+ui.Clean(e.Virtualization)+")"),
		ui.When(e.Governor != "", "governor "+ui.Clean(e.Governor)), ui.When(e.Turbo != "", "turbo "+ui.Clean(e.Turbo)),
		load, steal, ui.When(e.OS == "linux" && e.Kernel != "", "Linux ")+ui.Clean(e.Kernel))
}
