package heap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/record"
)

// A Snapshot is what was found in the Lua heaps of some processes at a time. It is what is saved, drawn
// and compared; sizes are in bytes.
type Snapshot struct {
	Schema string    `json:"schema"`
	Kind   string    `json:"kind"` // "heap"
	Time   time.Time `json:"time"`
	Heaps  []Heap    `json:"heaps"`
}

// Kind is what a Snapshot's Kind is.
const Kind = "heap"

// A Heap is that of one process.
type Heap struct {
	PID     int    `json:"pid"`
	Machine string `json:"machine,omitempty"` // http or stream, where both have Lua
	LuaJIT  string `json:"luajit"`            // file that it runs from
	Core    string `json:"core,omitempty"`    // core file that it was read from
	Stopped bool   `json:"stopped"`           // it stood still while it was copied: all is of one moment
	PauseNS int64  `json:"pause_ns"`          // for how long, at most
	Stops   int    `json:"stops"`             // how often: once, unless a list was just being changed
	Copied  int64  `json:"copied_bytes"`

	Total    int64      `json:"total_bytes"` // in use, as the machine counts it (collectgarbage "count")
	Types    []Type     `json:"types"`       // of objects, the largest first
	Others   []overhead `json:"others"`      // in the total, but no objects
	Code     int64      `json:"machine_code_bytes"`
	Sweeping bool       `json:"sweeping"` // the collector was freeing what it found dead
	Objects  int64      `json:"objects"`
	Broken   int64      `json:"broken"` // objects and references that make no sense
	Cut      int64      `json:"cut"`    // lists of objects whose end was not found

	Tables  []Table `json:"tables"` // the largest
	CData   []Place `json:"cdata"`  // the largest places
	Holders *Holder `json:"holders"`
}

// A Type is the objects of a type.
type Type struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"`
	// Of those, what nothing holds: garbage until the collector frees it.
	GarbageCount int64 `json:"garbage_count"`
	GarbageBytes int64 `json:"garbage_bytes"`
}

// An overhead is memory of the machine's own.
type overhead struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// A Table is a large one.
type Table struct {
	Path    string `json:"path"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
	Held    int64  `json:"held_bytes"` // with all that it alone holds
}

// A Place is objects of a sort and who holds them.
type Place struct {
	What  string `json:"what"`
	Path  string `json:"path"`
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"`
}

// Accounted is how many bytes of the total were found.
func (h Heap) Accounted() (n int64) {
	for _, t := range h.Types {
		n += t.Bytes
	}
	for _, o := range h.Others {
		n += o.Bytes
	}
	return n
}

// Garbage is what nothing holds.
func (h Heap) Garbage() (count, bytes int64) {
	for _, t := range h.Types {
		count += t.GarbageCount
		bytes += t.GarbageBytes
	}
	return count, bytes
}

// Write writes the snapshot as JSON.
func (s Snapshot) Write(to io.Writer) error {
	encode := jsontext.NewEncoder(to)
	return encode.Encode(s)
}

// Bounds of a snapshot's file. What Census and Prune leave is far below them; a file beyond them was made by
// something else, and reading it could take any amount of memory.
const (
	mostBytes   = 64 << 20
	mostObjects = 1 << 20 // in JSON's meaning
	mostDepth   = 2 * maxDepth
	mostInner   = 20 * maxInner
)

// Read reads what Write wrote, in bounded memory whatever the file holds.
func Read(from io.Reader) (*Snapshot, error) {
	b, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > mostBytes || bytes.Count(b, []byte("{")) > mostObjects {
		return nil, fmt.Errorf("not a heap snapshot, as 'moonlap heap --save' writes it: it is larger than %d MB, or has more than %d entries",
			mostBytes>>20, mostObjects)
	}
	var s Snapshot
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&s); err != nil {
		return nil, fmt.Errorf("not a heap snapshot, as 'moonlap heap --save' writes it: %w", err)
	}
	if s.Kind != Kind || s.Schema != record.Schema {
		return nil, fmt.Errorf("not a heap snapshot of %s, but kind %q of %q", record.Schema, s.Kind, s.Schema)
	}
	for i, h := range s.Heaps {
		if h.Holders == nil {
			return nil, fmt.Errorf("heap %d of the snapshot has no holders: was the file cut?", i)
		}
		if err := h.Holders.check(mostDepth); err != nil {
			return nil, fmt.Errorf("heap %d of the snapshot: %w", i, err)
		}
	}
	return &s, nil
}

// check refuses holders that Census cannot have made. They may be nested so deep.
func (h *Holder) check(depth int) error {
	if len(h.Inner) > mostInner {
		return fmt.Errorf("the holder %q has %d others in it, more than 'moonlap heap' writes: the file is damaged", h.Name, len(h.Inner))
	}
	for i, inner := range h.Inner {
		switch {
		case inner == nil:
			return fmt.Errorf("number %d in the holder %q is null: the file is damaged", i, h.Name)
		case depth == 0:
			return fmt.Errorf("holders are nested deeper than 'moonlap heap' writes them: the file is damaged")
		}
		if err := inner.check(depth - 1); err != nil {
			return err
		}
	}
	return nil
}

// Holders are those of all heaps together.
func (s *Snapshot) Holders() *Holder {
	if len(s.Heaps) == 1 {
		return s.Heaps[0].Holders
	}
	all := &Holder{Name: "Lua heaps"}
	for _, h := range s.Heaps {
		if h.Machine == "" {
			all.add(h.Holders)
			continue
		}
		of := *h.Holders
		of.Name = "Lua of " + h.Machine
		all.add(&Holder{HeldCount: of.HeldCount, HeldBytes: of.HeldBytes, Inner: []*Holder{&of}})
	}
	return all
}

// add counts another holder of the same name to this one.
func (h *Holder) add(other *Holder) {
	h.Count += other.Count
	h.Bytes += other.Bytes
	h.HeldCount += other.HeldCount
	h.HeldBytes += other.HeldBytes
	for _, inner := range other.Inner {
		h.at(inner.Name).add(inner)
	}
	h.sort()
}

// at is the inner holder of a name, made where there is none.
func (h *Holder) at(name string) *Holder {
	if i := slices.IndexFunc(h.Inner, func(i *Holder) bool { return i.Name == name }); i >= 0 {
		return h.Inner[i]
	}
	h.Inner = append(h.Inner, &Holder{Name: name})
	return h.Inner[len(h.Inner)-1]
}

// largest keeps the n first in an order.
func largest[T any](all []T, n int, size func(T) int64) []T {
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(size(b), size(a)) })
	return all[:min(n, len(all))]
}
