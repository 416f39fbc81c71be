package luajit

import "fmt"

// Penalties (lj_jit.h): PENALTY_SLOTS of {pc, val, reason}, and behind them the slot that is next.
const (
	penaltySlots = 64
	penaltyWords = 2      // of a slot
	mostPenalty  = 6e4    // PENALTY_MAX
	leastPenalty = 36 * 2 // PENALTY_MIN
)

// abortReasons are LuaJIT's (lj_traceerr.h), in the order that they had from 2019 to 2024 at least.
var abortReasons = [...]string{
	"error thrown or hook called during recording", "trace too short", "trace too long", "trace too deep",
	"too many snapshots", "blacklisted", "retry recording", "NYI: bytecode", "leaving loop in root trace",
	"inner loop in root trace", "loop unroll limit reached", "bad argument type",
	"JIT compilation disabled for function", "call unroll limit reached", "down-recursion, restarting",
	"NYI: unsupported variant of built-in function", "NYI: return to lower frame", "store with nil or NaN key",
	"missing metamethod", "looping index lookup", "NYI: mixed sparse/dense table", "symbol not in cache",
	"NYI: unsupported C type conversion", "NYI: unsupported C function type", "guard would always fail",
	"too many PHIs", "persistent type instability", "failed to allocate mcode memory", "machine code too long",
	"hit mcode limit (retrying)", "too many spill slots", "inconsistent register allocation",
	"NYI: cannot assemble IR instruction", "NYI: PHI shuffling too complex", "NYI: register coalescing too complex",
}

// Reason puts an abort's number into words.
func abortReason(number int) string {
	if number < len(abortReasons) {
		return abortReasons[number]
	}
	return fmt.Sprintf("reason %d", number)
}

// findPenalties finds the cache of penalties in the compiler's state: the word that it begins with. Each slot in
// use holds the address of bytecode, which leads to its prototype; those in use are the ones before the
// next slot, all around. An empty cache is found nowhere, and needs not be.
func (vm *VM) findPenalties(state []uint64) (at int, found bool) {
	for i := 0; i+penaltySlots*penaltyWords < len(state); i++ {
		for _, p := range penaltiesAt(state, i) {
			if _, ok := vm.protoOf(p.pc); ok { // else it was collected meanwhile: nothing frees a slot
				return i, true
			}
		}
	}
	return 0, false
}

// A penalty is a slot in use.
type penalty struct {
	pc     uint64
	reason int
}

// penaltiesAt reads the cache that begins with a word of the state, the newest slot first; none where it does not.
func penaltiesAt(state []uint64, at int) []penalty {
	const words = penaltySlots * penaltyWords
	if at+words >= len(state) {
		return nil
	}
	slots, next := state[at:at+words], uint32(state[at+words])
	if !plausible(slots, int(next)) {
		return nil
	}
	var all []penalty
	for n := range penaltySlots {
		slot := (int(next) - 1 - n + 2*penaltySlots) % penaltySlots
		pc, reason := slots[penaltyWords*slot], int(slots[penaltyWords*slot+1]>>16&0xffff)
		if pc == 0 {
			break
		}
		all = append(all, penalty{pc, reason})
	}
	return all
}

// penalties reads the cache of penalties.
func (vm *VM) penalties(state []uint64) ([]Abort, error) {
	at, found := vm.findPenalties(state)
	if !found {
		return nil, nil
	}
	var aborts []Abort
	for _, p := range penaltiesAt(state, at) {
		proto, ok := vm.protoOf(p.pc)
		if !ok {
			continue
		}
		r := vm.reader()
		a := Abort{Place: vm.place(r, proto, p.pc), Reason: abortReason(p.reason), Blacklisted: vm.isBlacklisted(r.U8(p.pc))}
		if r.Err == nil {
			aborts = append(aborts, a)
		}
	}
	return aborts, nil
}

// plausible reports whether slots, of which next is to be used next, may be the cache of penalties.
func plausible(slots []uint64, next int) bool {
	if next >= penaltySlots {
		return false
	}
	used := 0
	for i := range penaltySlots {
		pc, rest := slots[penaltyWords*i], slots[penaltyWords*i+1]
		value := rest & 0xffff
		switch {
		case pc == 0 && rest == 0:
		case pc < 1<<12 || pc > pointerMask || pc%4 != 0 || value < leastPenalty || value > mostPenalty || rest>>16&0xffff > 0x100:
			return false
		default:
			used++
		}
	}
	for i := range used {
		if slots[penaltyWords*((next-1-i+2*penaltySlots)%penaltySlots)] == 0 {
			return false
		}
	}
	return used > 0
}

// protoOf finds the prototype that a bytecode instruction is of: the nearest one before it that says
// it has N instructions.
func (vm *VM) protoOf(pc uint64) (proto uint64, ok bool) {
	const page, most = 1 << 12, 256 << 10
	end := pc &^ 7
	for start := end &^ (page - 1); end > 0 && pc-start < most; start -= page {
		b := vm.reader().Bytes(start, int(end-start)+protoSize)
		if b == nil {
			return 0, false
		}
		for at := end; at >= start+8; {
			at -= 8
			one := b[at-start:]
			if count := uint64(le32(one[protoSizeBC:])); one[objectType] == typeProto && count > 0 &&
				pc >= at+protoSize && pc < at+protoSize+4*count && uint64(le32(one[protoSizeAll:])) >= protoSize+4*count {
				r := vm.reader()
				if r.U8(r.U64(at+protoChunkName)+objectType) == typeString && r.Err == nil {
					return at, true
				}
			}
		}
		end = start
	}
	return 0, false
}
