package probe

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
)

// HaveMulti tells whether the kernel is Linux 6.6 or newer: it has links of several probes, whose end removes them at once. Tests
// replace it.
var HaveMulti = func() bool { return features.HaveBPFLinkUprobeMulti() == nil }

// Prompt tells that Detach ends the traps at once. Before Linux 6.6 they go on until it returns, for some tenths of a second.
func Prompt() bool { return HaveMulti() }

// Load loads programs that are attached to functions. objects is what bpf2go made for them; what names them in an error.
func Load(what string, spec *ebpf.CollectionSpec, objects any, options *ebpf.CollectionOptions) error {
	_ = rlimit.RemoveMemlock() // kernels before 5.11 count the memory of maps; if it was needed, loading fails
	if HaveMulti() {
		for _, p := range spec.Programs {
			p.AttachType = ebpf.AttachTraceUprobeMulti
		}
	}
	return Explain("load the programs for "+what, spec.LoadAndAssign(objects, options))
}

// A Site is where a program is attached.
type Site struct {
	Program *ebpf.Program
	Offset  uint64 // of an instruction in the file
	Returns bool   // at the return of the function that begins there, instead
	Cookie  uint64
}

// Uprobes are programs attached to functions of one process.
type Uprobes struct {
	PID  int
	File string // that has the functions
	What string // names them in an error

	links []link.Link
}

// Attach attaches programs in the order of their sites: one that sees an end has to come before that which sees the beginning.
func (u *Uprobes) Attach(sites ...Site) error {
	if slices.ContainsFunc(sites, func(s Site) bool { return s.Returns }) {
		if err := MayReturn(u.PID); err != nil {
			return fmt.Errorf("attach to %s: %w", u.What, err)
		}
	}
	file, err := link.OpenExecutable(u.File)
	if err != nil {
		return fmt.Errorf("attach to %s: %w", u.What, err)
	}
	for len(sites) > 0 {
		n := 1
		for HaveMulti() && n < len(sites) && sites[n].Program == sites[0].Program && sites[n].Returns == sites[0].Returns {
			n++
		}
		one, err := u.attach(file, sites[:n])
		if err != nil {
			u.Detach()
			return Explain("attach to "+u.What, err)
		}
		u.links = append(u.links, one)
		sites = sites[n:]
	}
	return nil
}

// attach makes one link; several sites of one program share it where the kernel can do that.
func (u *Uprobes) attach(file *link.Executable, sites []Site) (link.Link, error) {
	first := sites[0]
	if !HaveMulti() {
		attach := file.Uprobe
		if first.Returns {
			attach = file.Uretprobe
		}
		return attach("", first.Program, &link.UprobeOptions{Address: first.Offset, PID: u.PID, Cookie: first.Cookie})
	}
	options := &link.UprobeMultiOptions{PID: uint32(u.PID)}
	for _, s := range sites {
		options.Addresses = append(options.Addresses, s.Offset)
		options.Cookies = append(options.Cookies, s.Cookie)
	}
	if first.Returns {
		return file.UretprobeMulti(nil, first.Program, options)
	}
	return file.UprobeMulti(nil, first.Program, options)
}

// Detach ends what Attach began.
func (u *Uprobes) Detach() { detach(&u.links) }

// detach closes them side by side, because the kernel waits for each until nothing uses it any more.
func detach(links *[]link.Link) {
	var wait sync.WaitGroup
	for _, one := range *links {
		wait.Go(func() { one.Close() })
	}
	wait.Wait()
	*links = nil
}
