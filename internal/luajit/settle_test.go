package luajit

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/process"
)

// A build is what differs in layouts that only a machine with traces tells.
type build struct {
	name    string
	traces  uint64 // of the array of traces, from where it is now
	entries uint64 // of the number of a snapshot's entries
	exact   bool
}

var buildsOf = []build{
	{"since 2021-12", 0, 10, true},
	{"2020-10 to 2021-11", 0, 8, false},
	{"before 2020-10", 8, 8, false},
}

// addTrace makes a trace with snapshots of N entries.
func (m *made) addTrace(b build, number uint64, entries ...uint8) {
	t := m.object(typeTrace, traceNumber+8)
	snaps := m.allocate(snapshotSize * uint64(len(entries)))
	le := binary.LittleEndian
	offset := uint32(0)
	for i, n := range entries {
		at := m.memory[snaps+uint64(i)*snapshotSize-madeAt:]
		le.PutUint32(at, offset)
		for j := range at[6:snapshotSize] {
			at[6+j] = byte(37 + 11*i + 5*j) // slots, offsets, counts of exits
		}
		at[b.entries] = n
		offset += uint32(n) + 2
	}
	le.PutUint16(m.memory[t+traceSnapshots-madeAt:], uint16(len(entries)))
	le.PutUint32(m.memory[t+traceSnapMapSize-madeAt:], offset)
	le.PutUint16(m.memory[t+traceNumber-madeAt:], uint16(number))
	m.put(t+traceSnaps, snaps)
	array := madeGlobal + m.vm.Layout.Traces + b.traces
	m.put(m.get(array)+8*number, t)
}

// TestSettle: a machine that has no traces yet when it is found tells later where they are, and what their
// snapshots know.
func TestSettle(t *testing.T) {
	for _, b := range buildsOf {
		t.Run(b.name, func(t *testing.T) {
			m := newMade(t)
			m.vm.Memory = process.NewCopy([]process.Part{{Address: madeAt, Bytes: m.memory}})
			before := m.vm.Layout
			if m.vm.Settle(); m.vm.Layout != before || m.vm.settled {
				t.Fatalf("without a trace: %+v", m.vm.Layout)
			}
			const size = 16
			at := madeGlobal + m.vm.Layout.Traces + b.traces
			m.put(at, m.allocate(8*size))
			m.put(at+8, size<<32)
			if m.vm.Settle(); m.vm.settled {
				t.Fatalf("with room for traces: %+v", m.vm.Layout)
			}
			m.addTrace(b, 1, 4)
			m.addTrace(b, 7, 3, 0, 255, 12)
			m.vm.Settle()
			want := before
			want.Traces, want.SnapshotPC = before.Traces+b.traces, b.exact
			if m.vm.Layout != want || !m.vm.settled || m.vm.TraceCount() != 2 {
				t.Errorf("%+v, want %+v; %d traces", m.vm.Layout, want, m.vm.TraceCount())
			}
			// From now on a trace that makes no sense is an error, and settles nothing anew.
			m.put(m.get(at)+8*3, m.vm.Global)
			if _, err := m.vm.Verify(); !errors.Is(err, ErrLayout) || m.vm.Layout != want {
				t.Errorf("%v, %+v", err, m.vm.Layout)
			}
		})
	}
}

// TestSettleStrings: where strings have their length is known by the names of globals. The heap of a machine
// that keeps them as before 2020-10 is refused.
func TestSettleStrings(t *testing.T) {
	for _, old := range []bool{false, true} {
		m := newMade(t)
		globals := m.table(0, 2)
		name := m.string("_G")
		if old {
			m.put(name+0x10, uint64(len("_G")))
		}
		m.set(globals, 0, tagged(typeString, name), tagged(typeTable, globals))
		m.put(madeMain+environment, globals)
		m.vm.Memory = process.NewCopy([]process.Part{{Address: madeAt, Bytes: m.memory}})
		if _, err := m.vm.Verify(); err != nil {
			t.Fatal(err)
		}
		if m.vm.Layout.OldStrings != old {
			t.Errorf("before 2020-10: %v, want %v", m.vm.Layout.OldStrings, old)
		}
		_, err := m.tryRead()
		if old && (!errors.Is(err, ErrLayout) || !strings.Contains(err.Error(), "before 2020-10")) || !old && err != nil {
			t.Errorf("before 2020-10 %v: its heap: %v", old, err)
		}
	}
}

// TestTotalBehind: where the bytes in use are counted, by lua_newstate's place in GG_State.
func TestTotalBehind(t *testing.T) {
	for _, c := range []struct{ stateTotal, size, want uint64 }{
		{0x80, 0x70, 0x10}, {0x70, 0x60, 0x10}, {136, 104, 32}, {0, 0x70, gcTotal},
	} {
		if got := (&Layout{StateTotal: c.stateTotal}).totalBehind(c.size); got != c.want {
			t.Errorf("%+v: %#x", c, got)
		}
	}
}
