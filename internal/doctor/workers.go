package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// Workers looks into the nginx workers that run on this machine: what each consists of, and whether
// profile, watch and explain can see its Lua. Workers of one master that are alike share a check.
func Workers() ([]Check, []worker.About) {
	pids, err := nginx.Workers()
	if err != nil {
		return []Check{note("workers", "the processes can't be listed: "+err.Error(), "mount /proc")}, nil
	}
	if len(pids) == 0 {
		return []Check{noWorkers("/proc")}, nil
	}
	var abouts []worker.About
	var seen []inspected
	for _, pid := range pids {
		a, err := inspect(pid)
		if err == nil {
			abouts = append(abouts, a)
		} else if gone(pid) {
			continue // ended meanwhile
		}
		seen = append(seen, inspected{a, err})
	}
	return workerChecks(seen), abouts
}

// noWorkers says that none was found, and why some may be unseen.
func noWorkers(proc string) Check {
	const none, hostNamespace = "no nginx worker runs here that could be looked into", "pid:[4026531836]"
	if _, err := os.Stat(filepath.Join(proc, "1")); errors.Is(err, os.ErrNotExist) {
		return note("workers", none+"; /proc hides the processes of other users (hidepid)", "run as root, or mount /proc without hidepid")
	}
	if namespace, err := os.Readlink(filepath.Join(proc, "self/ns/pid")); err == nil && namespace != hostNamespace {
		return note("workers", none+"; those outside of this container are unseen, as it has a PID namespace of its own",
			"run on the host, or in a container with the host's processes (--pid=host)")
	}
	return ok("workers", none)
}

// inspected is what became of looking into one worker.
type inspected struct {
	about worker.About
	err   error
}

func inspect(pid int) (worker.About, error) {
	w, err := worker.Open(pid)
	if err != nil {
		return worker.About{PID: pid, Master: process.Parent(pid)}, err
	}
	defer w.Close()
	return w.About()
}

func gone(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return errors.Is(err, os.ErrNotExist)
}

// workerChecks makes a check for each group of workers of one master with the same outcome.
func workerChecks(seen []inspected) []Check {
	type group struct {
		master int
		check  Check
	}
	members := map[group][]worker.About{}
	var order []group
	for _, s := range seen {
		g := group{s.about.Master, workerCheck(s.about, s.err)}
		if len(members[g]) == 0 {
			order = append(order, g)
		}
		members[g] = append(members[g], s.about)
	}
	slices.SortStableFunc(order, func(a, b group) int { return cmp.Compare(a.master, b.master) })
	var checks []Check
	for _, g := range order {
		var pids []string
		traces := 0
		for _, a := range members[g] {
			pids, traces = append(pids, fmt.Sprint(a.PID)), traces+a.Traces
		}
		c := g.check
		c.Name = "worker"
		if len(pids) > 1 {
			c.Name = "workers"
		}
		c.Text = fmt.Sprintf("%s of master %d: %s", strings.Join(pids, ", "), g.master, c.Text)
		if traces > 0 {
			c.Text += fmt.Sprintf(" (%d of them now)", traces)
		}
		checks = append(checks, c)
	}
	return checks
}

// workerCheck judges one worker; its text says nothing that differs between workers of one nginx, so
// that these can be reported together.
func workerCheck(a worker.About, err error) Check {
	switch {
	case errors.Is(err, os.ErrPermission):
		return note("", "this user may not read its memory", "run as root, or with CAP_SYS_PTRACE")
	case errors.Is(err, worker.ErrNoLua):
		return note("", unnumbered(err, a.PID), "profile, watch and explain are for nginx with Lua")
	case errors.Is(err, luajit.ErrLayout):
		return problem("", err.Error(), "profile, watch and explain refuse it rather than misread it; they know LuaJIT 2.1 since 2019-05, x86-64 with 64-bit pointers")
	case err != nil:
		return problem("", unnumbered(err, a.PID), "profile, watch and explain cannot observe it")
	}
	nginx := cmp.Or(a.Nginx, "nginx of unknown version") + " (" + a.Program + ")"
	if a.Module != "" {
		nginx += ", Lua module " + a.Module
	}
	branch := ""
	if a.Branch {
		branch = ", OpenResty's branch"
	}
	build := ""
	if a.BuildID != "" {
		const enough = 12
		build = ", build " + a.BuildID[:min(enough, len(a.BuildID))]
	}
	text := fmt.Sprintf("%s; %s%s (%s%s), its layout read from its code; verified: %s",
		nginx, cmp.Or(a.LuaJIT, "LuaJIT"), branch, filepath.Base(a.Library), build, strings.Join(a.Verified, ", "))
	if a.Filtered {
		text = "under a seccomp filter; " + text
	}
	if !a.Exact {
		return note("", text, "this LuaJIT is older than 2021-12: inside traces functions are known, lines are not")
	}
	return ok("", text)
}

// unnumbered is an error without the process's number, which differs between workers.
func unnumbered(err error, pid int) string {
	return strings.ReplaceAll(err.Error(), fmt.Sprintf("of process %d ", pid), "")
}
