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

// HaveMulti reports whether the kernel is Linux 6.6 or newer: it has links of several probes, whose end removes them at once. Tests
// replace it.
var HaveMulti = func() bool { return features.HaveBPFLinkUprobeMulti() == nil }

// Prompt reports that Detach ends the traps at once. Before Linux 6.6 they go on until it returns, for some tenths of a second.
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

// Uprobes are programs attached to functions of one process. The keeper has them.
type Uprobes struct {
	PID  int
	File string // that has the functions
	What string // names them in an error

	kept uint64 // their number at the keeper; 0: they are not attached
}

// Attach attaches programs in the order of their sites: one that sees an end has to come before that which sees the beginning.
func (u *Uprobes) Attach(sites ...Site) error {
	if slices.ContainsFunc(sites, func(s Site) bool { return s.Returns }) {
		if err := MayReturn(u.PID); err != nil {
			return fmt.Errorf("attach to %s: %w", u.What, err)
		}
	}
	var err error
	u.kept, err = theKeeper.attach(u.PID, u.File, sites)
	return Explain("attach to "+u.What, err)
}

// Detach ends what Attach began.
func (u *Uprobes) Detach() {
	theKeeper.detach(u.kept)
	u.kept = 0
}

// attachLinks attaches programs in the order of their sites; each link is made after before was called. Several sites of one
// program share a link where the kernel can do that (multi).
func attachLinks(pid int, path string, sites []Site, multi bool, before func()) (links []link.Link, err error) {
	file, err := link.OpenExecutable(path)
	if err != nil {
		return nil, err
	}
	for len(sites) > 0 {
		n := 1
		for multi && n < len(sites) && sites[n].Program == sites[0].Program && sites[n].Returns == sites[0].Returns {
			n++
		}
		before()
		one, err := attachLink(pid, file, sites[:n], multi)
		if err != nil {
			detach(&links)
			return nil, err
		}
		links = append(links, one)
		sites = sites[n:]
	}
	return links, nil
}

// attachLink makes one link.
func attachLink(pid int, file *link.Executable, sites []Site, multi bool) (link.Link, error) {
	first := sites[0]
	if !multi {
		attach := file.Uprobe
		if first.Returns {
			attach = file.Uretprobe
		}
		return attach("", first.Program, &link.UprobeOptions{Address: first.Offset, PID: pid, Cookie: first.Cookie})
	}
	options := &link.UprobeMultiOptions{PID: uint32(pid)}
	for _, s := range sites {
		options.Addresses = append(options.Addresses, s.Offset)
		options.Cookies = append(options.Cookies, s.Cookie)
	}
	if first.Returns {
		return file.UretprobeMulti(nil, first.Program, options)
	}
	return file.UprobeMulti(nil, first.Program, options)
}

// detach closes them side by side, because the kernel waits for each until nothing uses it any more.
func detach(links *[]link.Link) {
	var wait sync.WaitGroup
	for _, one := range *links {
		wait.Go(func() { one.Close() })
	}
	wait.Wait()
	*links = nil
}
