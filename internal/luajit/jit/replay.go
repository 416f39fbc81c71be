package jit

import "encoding/binary"

// mostParents bounds how far an allocation is looked for that one side trace after another has left out.
const mostParents = 8

// Replays reports that a side trace begins with allocations which the trace that it goes on from has left out (sunk), as the object did
// not leave that.
func (t *Trace) Replays() bool {
	if t.Root == 0 {
		return false
	}
	for r := First; r < min(t.Snapshots[0].Ref, t.end()); r++ {
		if sinking(t.IR[r-Bias].Op) {
			return true
		}
	}
	return false
}

// sinking reports that LuaJIT may leave an allocation out.
func sinking(o Op) bool { return o == TNEW || o == TDUP || o == CNEW || o == CNEWI }

// ExitTo is the number of the exit by which the trace goes on at an address: its guard's branch leads there, or, of a loop's last guard,
// the jump behind it. false: it has none.
func (t *Trace) ExitTo(address uint64) (exit int, ok bool) {
	const prefix, near, size = 0x0f, 0x80, 6 // of a conditional jump with 32 bits
	const jump, jumpSize = 0xe9, 5
	if at := len(t.Code) - jumpSize; t.Loop != 0 && at >= 0 && t.Code[at] == jump &&
		t.Address+uint64(len(t.Code))+uint64(int64(int32(binary.LittleEndian.Uint32(t.Code[at+1:])))) == address {
		return len(t.Snapshots) - 1, true
	}
	for at := 0; at+size <= len(t.Code); at++ {
		by := int32(binary.LittleEndian.Uint32(t.Code[at+2:]))
		if t.Code[at] != prefix || t.Code[at+1]&0xf0 != near || t.Address+uint64(at+size)+uint64(int64(by)) != address {
			continue
		}
		for n, s := range t.Snapshots {
			if s.Offset <= at {
				exit = n
			}
		}
		return exit, true
	}
	return 0, false
}

// replayed are the places of what a side trace does for objects that its parent has left out: the parent made them there. The parent,
// and its exit, are those of Parent.
func (t *Trace) replayed(source Source, root uint64, deep int) map[Ref]Place {
	p := t.Parent
	if p == nil || deep == 0 || t.Exit >= len(p.Snapshots) || p.Snapshots[t.Exit].PC != t.Snapshots[0].PC {
		return nil
	}
	before := p.replayed(source, root, deep-1)
	w := p.walk(source, root)
	if len(w.steps) == 0 {
		return before
	}
	var copies map[Ref]Span
	loop := p.loop()
	if loop != 0 {
		copies = p.copies(loop)
	}
	all := map[Ref]Place{}
	first := t.Snapshots[0]
	for slot, made := range p.Snapshots[t.Exit].Slots {
		r := first.Slots[slot]
		here, ok := t.At(r)
		there, and := p.At(made)
		if !ok || !and || r >= first.Ref || !sinking(here.Op) || here.Op != there.Op {
			continue
		}
		if all[r] = before[made]; all[r] == nil {
			all[r] = w.place(Span{made, made}, loop, copies)
		}
	}
	for r := First; r < min(first.Ref, t.end()); r++ { // what is stored there
		if i := t.IR[r-Bias]; definitions[i.Op].refs[0] && all[r] == nil && !sinking(i.Op) && all[i.Op1] != nil {
			all[r] = all[i.Op1]
		}
	}
	return all
}
