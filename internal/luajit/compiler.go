package luajit

import (
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// A Compiler follows what a machine's compiler does while it goes on: LuaJIT forgets the reasons of aborts after 64
// further ones, and keeps no account of the traces that it throws away.
type Compiler struct {
	vm      *VM
	looked  time.Time
	on      bool
	hooked  bool
	limits  Limits
	area    uint64
	exit    uint64 // distance of J.parent and J.exitno; 0: not known
	slots   int    // word of the state that the penalties begin with; -1: not known yet
	current map[uint64]int
	reasons map[uint64]int // of all aborts that were seen, by the bytecode that the trace would have begun with
	traces  []uint64       // their addresses, by number
	most    int
	flushes int

	began    time.Time
	scanned  time.Time
	branches map[int][]branch // given up, by the root trace
	ends     []End
	seen     map[uncompiledKey]*Uncompiled
}

// NewCompiler begins to follow a machine's compiler.
func NewCompiler(vm *VM) *Compiler {
	return &Compiler{vm: vm, began: time.Now(), on: true, slots: -1, reasons: map[uint64]int{}, seen: map[uncompiledKey]*Uncompiled{}}
}

// Compilation is what is known of a compiler after it was followed.
type Compilation struct {
	Limits         // the zero one: not known
	Most    int    // traces there were at once, as far as was seen
	Area    uint64 // bytes of memory for machine code, in the same way; 0: not known
	Flushes int    // how often traces were seen to be gone, at least
	Ends    []End
}

const (
	lookEvery = 200 * time.Millisecond
	scanEvery = 2 * time.Second
)

// Follow looks again if the last time was a while ago.
func (c *Compiler) Follow() {
	if now := time.Now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		c.look()
		// The first time early: a program may end soon.
		if since := now.Sub(c.scanned); since >= min(scanEvery, now.Sub(c.began)/2) {
			c.scan()
		}
	}
}

// scan reads all traces, of which there may be thousands.
func (c *Compiler) scan() {
	c.scanned = time.Now()
	if branches, whole := c.vm.givenUp(); whole || c.branches == nil { // else it has ended
		c.branches = branches
	}
	if ends, whole := c.vm.ends(); whole || c.ends == nil {
		c.ends = ends
	}
}

func (c *Compiler) look() {
	vm := c.vm
	r := vm.reader()
	if at := vm.Layout.JITFlags; at != 0 {
		c.on = r.U32(vm.Global+at)&jitOn != 0 || r.Err != nil
	}
	if at := vm.Layout.Hooks; at != 0 {
		const events = 0x0f // HOOK_EVENTMASK
		c.hooked = r.U8(vm.Global+at)&events != 0 && r.Err == nil
	}
	c.compare(r)
	state := vm.jitState()
	if state == nil { // it has ended
		return
	}
	c.limits = findLimits(state)
	if at, found := findArea(state); found {
		c.area = max(c.area, state[at+4])
		if c.exit == 0 {
			c.exit = vm.findExit(state, at)
		}
	}
	if c.slots < 0 {
		if at, found := vm.findPenalties(state); found {
			c.slots = at
		}
	}
	c.current = map[uint64]int{}
	if c.slots >= 0 {
		for _, p := range penaltiesAt(state, c.slots) {
			c.current[p.pc], c.reasons[p.pc] = p.reason, p.reason
		}
	}
}

// compare finds out whether traces have been thrown away since the last time: what frees them is a flush alone.
func (c *Compiler) compare(r *process.Reader) {
	array, count := c.vm.traceArray(r)
	list := r.Bytes(array, 8*count)
	if r.Err != nil {
		return
	}
	now := make([]uint64, count)
	for n := range now {
		now[n] = le64(list[8*n:]) & pointerMask
	}
	for n, address := range c.traces {
		if address != 0 && (n >= count || now[n] != address) {
			c.flushes++
			break
		}
	}
	c.traces = now
	absent := 0
	for n, address := range now { // the one that is being recorded goes again if it comes to nothing
		if address >= c.vm.Global && address < c.vm.Global+c.vm.Layout.Traces {
			c.traces[n], address = 0, 0
		}
		if address == 0 {
			absent++
		}
	}
	c.most = max(c.most, count-absent)
}

// ExitAt is the distance from the machine to the two numbers, of 32 bits, that say which trace it leaves, and by which exit;
// 0: not known.
func (c *Compiler) ExitAt() uint64 { return c.exit }

// Refresh looks again at all, however long ago the last time was.
func (c *Compiler) Refresh() {
	c.look()
	c.scan()
}

// Compilation is what is known as of the last look.
func (c *Compiler) Compilation() Compilation {
	return Compilation{Limits: c.limits, Most: c.most, Area: c.area, Flushes: c.flushes, Ends: c.ends}
}
