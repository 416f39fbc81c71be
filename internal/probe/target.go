package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
)

// A Target is a worker that is to be sampled.
type Target struct {
	PID   int
	VM    *luajit.VM
	Other *luajit.VM // of the same LuaJIT, that runs Lua, too; nil: there is none
	Clock uint64     // address of nginx's clock, ngx_current_msec; 0: it has none
	URI   uint64     // offset of uri in nginx's request; 0: not known, see Source.SetURI
	Exit  uint64     // distance from the machine of what says which trace is left, see luajit.Compiler; 0: not known, see Source.SetExit

	Context uint64 // offset of the Lua module's context among the request's contexts
	Phase   uint64 // offset of the phase in that context; 0: not known
}

// ErrUnsupported is the error of a machine that cannot be sampled through eBPF.
var ErrUnsupported = errors.New("no eBPF")

// ErrReturns is the error of a process that a return probe would kill.
var ErrReturns = errors.New("a return probe would kill it")

// ErrForbidden is the error of a process that lacks a capability which sampling takes.
var ErrForbidden = errors.New("this user lacks")

// stackEnd is where the main thread's stack begins: the address of the program's arguments. See
// startstack in proc_pid_stat(5).
func stackEnd(pid int) (uint64, error) {
	file := fmt.Sprintf("/proc/%d/stat", pid)
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	_, after, ok := cutLast(string(b), ") ")
	fields := strings.Fields(after)
	const startStack = 28 - 3 // counted from the state on, the third field
	if !ok || len(fields) <= startStack {
		return 0, fmt.Errorf("%s is too short", file)
	}
	end, err := strconv.ParseUint(fields[startStack], 10, 64)
	if err != nil || end == 0 {
		return 0, fmt.Errorf("%s does not show where the stack is: that takes CAP_SYS_PTRACE", file)
	}
	return end, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// NameKernel is the name of the one check without which sampling works all the same.
const NameKernel = "name kernel functions"

// ProbeFunctions is the name of the check of what timing locks and counting allocations take beyond sampling.
const ProbeFunctions = "probe functions, for --locks, --allocations and --resumes"

// ProbeReturns is the name of the check whether a process under a seccomp filter survives that the return of its functions is
// probed, as --locks and --resumes do. Where it does not, they refuse such workers.
const ProbeReturns = "probe returns under a seccomp filter, for --locks and --resumes"

// A Checked is one thing that sampling takes.
type Checked struct {
	Name string // "sample through eBPF"
	Err  error  // why it does not work; nil: it does
}
