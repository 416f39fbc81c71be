package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

// head says exactly what was measured, and with what.
func (p *page) head(res *record.Results) {
	kind := res.Kind
	if kind != "" {
		kind = " " + clean(kind)
	}
	p.line(p.strong.Render("moonlap"+kind) + p.faint.Render(p.dot+fmt.Sprintf("seed %d", res.Seed)))
	for _, f := range p.headFacts(res) {
		p.fact(f.label, f.text)
	}
}

type labelled struct{ label, text string }

func (p *page) headFacts(res *record.Results) []labelled {
	facts := []labelled{{"runtime", p.runtime(res)}}
	for _, vm := range res.VMs {
		facts = append(facts, labelled{"VM", p.vm(vm)})
	}
	facts = append(facts, labelled{"clock", p.clock(res.Clock)}, labelled{"machine", p.machine(res.Environment)})
	return slices.DeleteFunc(facts, func(f labelled) bool { return f.text == "" })
}

func (p *page) runtime(res *record.Results) string {
	var parts []string
	if rt := res.Runtime; rt != nil {
		switch {
		case res.Nginx != nil:
			parts = append(parts, "nginx "+clean(res.Nginx.Version))
		case rt.Version != "":
			parts = append(parts, clean(rt.Version))
		default:
			parts = append(parts, clean(rt.Kind))
		}
		if rt.OpenResty != "" {
			parts = append(parts, "OpenResty "+clean(rt.OpenResty))
		}
	}
	if n := res.Nginx; n != nil {
		parts = append(parts, "Lua module "+clean(n.LuaModule), phase(n))
	}
	return p.join(parts...)
}

func phase(n *record.Nginx) string {
	if n.Phase == "" {
		return ""
	}
	s := "phase " + clean(n.Phase)
	if n.Process != "" {
		s += " in a " + clean(n.Process)
		if n.Process == "single" {
			s += " process"
		}
	}
	return s
}

func (p *page) vm(vm record.VM) string {
	if vm.Go() {
		return p.join(fmt.Sprintf("%s %s, GOMAXPROCS %d", clean(vm.Version), clean(vm.Arch), vm.GOMAXPROCS), clean(vm.Build))
	}
	version := clean(vm.Version)
	if build := clean(vm.Build); build != "" {
		version += " (" + build + ")"
	}
	gc := ""
	if vm.GC64 {
		gc = "GC64"
	}
	jit := "JIT off, all is interpreted"
	if vm.JIT {
		jit = "jit.opt " + clean(jitOpt(vm.Opt))
	}
	var params []string
	for _, name := range slices.Sorted(maps.Keys(vm.Params)) {
		params = append(params, fmt.Sprintf("%s=%v", clean(name), vm.Params[name]))
	}
	return p.join(version, clean(vm.Arch), gc, jit, strings.Join(params, " "), clean(vm.Library))
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
	name := map[string]string{"tsc": "time-stamp counter", "monotonic": "monotonic clock"}[c.Source]
	if name == "" {
		name = clean(c.Source)
	}
	if c.Reason != "" {
		name += " (" + clean(c.Reason) + ")"
	}
	how := ""
	if !c.Compiled {
		how = ", interpreted"
	}
	return p.join(name, "steps of "+p.time(c.StepNS), "a read costs "+p.time(c.CostNS)+how)
}

func (p *page) machine(e record.Environment) string {
	cores, load, kernel, steal := "", "", clean(e.Kernel), ""
	if e.Cores > 0 {
		cores = plural(e.Cores, "core", "cores")
	}
	if len(e.Load) > 0 {
		load = "load " + fixed(e.Load[0], 2)
	}
	if e.StealPercent != nil && *e.StealPercent >= 0.05 {
		steal = "steal " + percent(*e.StealPercent/100)
	}
	if e.OS == "linux" && kernel != "" {
		kernel = "Linux " + kernel
	}
	governor, turbo := "", ""
	if e.Governor != "" {
		governor = "governor " + clean(e.Governor)
	}
	if e.Turbo != "" {
		turbo = "turbo " + clean(e.Turbo)
	}
	virtual := ""
	if e.Virtualization != "" {
		virtual = "virtual (" + clean(e.Virtualization) + ")"
	}
	return p.join(clean(e.CPU), cores, virtual, governor, turbo, load, steal, kernel)
}
