package heap

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The model names its references and objects.
func (m *model) Step(from int, how uint64, exact bool) string {
	if from == none {
		return fmt.Sprint("root", how)
	}
	return fmt.Sprint(".", how)
}
func (m *model) Describe(object int) string {
	return []string{"table", "string", "cdata int"}[object%3]
}
func (m *model) ObjectClass(object int) uint64 { return uint64(object % 3) }
func (m *model) StepClass(from int, how uint64) uint64 {
	if from == none {
		return 1000 + how
	}
	return how
}
func (m *model) TypeName(object int) string { return m.Describe(object) }
func (m *model) Entries(table int) int64    { return int64(len(m.refs[table])) }

// check holds that the sums of a holder are those of what stands below it.
func check(t *rapid.T, h *Holder) {
	count, bytes := h.Count, h.Bytes
	last := int64(math.MaxInt64)
	for _, inner := range h.Inner {
		check(t, inner)
		count += inner.HeldCount
		bytes += inner.HeldBytes
		if inner.HeldBytes > last && inner.Name != "smaller ones" {
			t.Fatalf("%s stands behind smaller ones", inner.Name)
		}
		last = inner.HeldBytes
	}
	if count != h.HeldCount || bytes != h.HeldBytes {
		t.Fatalf("%s holds %d in %d, below it there are %d in %d", h.Name, h.HeldBytes, h.HeldCount, bytes, count)
	}
}

// TestHolders: each object counts once, whatever the graph, and nothing is lost when small ones are put
// together.
func TestHolders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		h := Census(m, nil)
		var all int64
		for _, size := range m.sizes {
			all += size
		}
		check(t, h.Holders)
		if h.Holders.HeldBytes != all || h.Holders.HeldCount != int64(len(m.sizes)) || h.Accounted() != all {
			t.Fatalf("%d bytes in %d objects are held, %d accounted for, of %d", h.Holders.HeldBytes, h.Holders.HeldCount, h.Accounted(), all)
		}
		alive, seen := m.alive(none)
		if count, garbage := h.Garbage(); garbage != all-alive || count != int64(len(m.sizes)-len(seen)) {
			t.Fatalf("%d bytes in %d objects are garbage, want %d", garbage, count, all-alive)
		}
		h.Holders.Prune(rapid.Int64Range(0, 2000).Draw(t, "least"))
		check(t, h.Holders)
	})
}

// list is a list of n objects, of which each holds the next and one of its own.
func list(n int) *model {
	m := &model{roots: 1}
	for i := range n {
		refs := []int{2*i + 1}
		if i+1 < n {
			refs = append(refs, 2*i+2)
		}
		m.refs = append(m.refs, refs, nil)
		m.sizes = append(m.sizes, 10, 1)
	}
	m.passing = make([]bool, len(m.sizes))
	return m
}

// TestFolded: a list as long as memory folds into a few names, and no object is lost.
func TestFolded(t *testing.T) {
	const n = 200_000
	h := Census(list(n), nil)
	if h.Holders.HeldBytes != 11*n {
		t.Errorf("%d bytes", h.Holders.HeldBytes)
	}
	depth, holders := 0, 0
	var visit func(h *Holder, d int)
	visit = func(h *Holder, d int) {
		depth, holders = max(depth, d), holders+1
		for _, inner := range h.Inner {
			visit(inner, d+1)
		}
	}
	visit(h.Holders, 0)
	if depth > maxDepth || holders > 200 {
		t.Errorf("%d holders, %d deep", holders, depth)
	}
}

// TestMany: thousands of names below one holder become one.
func TestMany(t *testing.T) {
	const n = 10_000
	m := &model{roots: 1, refs: make([][]int, n+1), sizes: make([]int64, n+1), passing: make([]bool, n+1)}
	for i := 1; i <= n; i++ {
		m.refs[0] = append(m.refs[0], i)
		m.sizes[i] = 1000
	}
	h := Census(m, nil)
	root := h.Holders.Inner[0]
	if len(root.Inner) > maxInner+1 || root.HeldBytes != 1000*n {
		t.Errorf("%d names, %d bytes", len(root.Inner), root.HeldBytes)
	}
	if other := root.Inner[0]; other.Name != "other keys" || other.Count != n-maxInner {
		t.Errorf("the largest is %+v", other)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		steps []string
		what  string
		want  string
	}{
		{[]string{"package.loaded", `["app.cache"]`, ".get", "upvalue store"}, "upvalue", `package.loaded["app.cache"].get → upvalue store`},
		{[]string{"upvalue store", ""}, "table", "upvalue store table"},
		{[]string{""}, "table", "table"},
		{[]string{"[…]"}, "string", "[…] string"},
		{[]string{".x", "metatable"}, "table", ".x → metatable"},
		{[]string{"code"}, "code of f@a.lua:1", "code"},
		{[]string{"…", ".next"}, "table", "….next table"},
	} {
		if got := describe(joined(c.steps), c.what); got != c.want {
			t.Errorf("%q of %q is %q, want %q", c.what, c.steps, got, c.want)
		}
	}
}

// TestCompare: what changed of one snapshot to another is the difference of all sums, and nothing of the
// same to itself.
func TestCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, two := Census(drawModel(t), nil).Holders, Census(drawModel(t), nil).Holders
		c := Compare(one, two)
		if c.HeldBytes != two.HeldBytes-one.HeldBytes || c.Before != one.HeldBytes || c.After != two.HeldBytes {
			t.Fatalf("%d came, of %d and %d", c.HeldBytes, one.HeldBytes, two.HeldBytes)
		}
		var sum func(c *Change) int64
		sum = func(c *Change) int64 {
			n := c.Bytes
			for _, inner := range c.Inner {
				n += sum(inner)
			}
			if n != c.HeldBytes {
				t.Fatalf("%s: %d, below it %d", c.Name, c.HeldBytes, n)
			}
			return n
		}
		sum(c)
		if same := Compare(one, one); len(same.Inner) > 0 || same.HeldBytes != 0 {
			t.Fatalf("to itself: %+v", same)
		}
		if back := Compare(two, one); back.HeldBytes != -c.HeldBytes || back.HeldCount != -c.HeldCount {
			t.Fatalf("%+v, and back %+v", c, back)
		}
	})
}

func snapshot(m *model) *Snapshot {
	h := Census(m, nil)
	h.PID, h.Total = 1, h.Accounted()
	return &Snapshot{Schema: "moonlap/1", Kind: Kind, Time: time.Unix(1e9, 0).UTC(), Heaps: []Heap{h}}
}

// TestSnapshot: what is written is read again; of several heaps the holders are added.
func TestSnapshot(t *testing.T) {
	s := snapshot(list(50))
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("(- written, + read)\n%s", diff)
	}
	for _, bad := range []string{"", "x", whole[:len(whole)/2], `{"schema":"moonlap/1","kind":"bench"}`, `{"schema":"moonlap/2","kind":"heap"}`, `{"schema":"moonlap/1","kind":"heap","heaps":[{}]}`} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%.40q was read", bad)
		}
	}
	two := snapshot(list(50))
	two.Heaps = append(two.Heaps, Census(list(20), nil))
	sum := two.Holders()
	if want := int64(11*50 + 11*20); sum.HeldBytes != want {
		t.Errorf("two heaps hold %d, want %d", sum.HeldBytes, want)
	}
	if n := two.Heaps[0].Holders.HeldBytes; n != 11*50 {
		t.Errorf("the first has %d after they were added", n)
	}
}

// TestProfile: the flame graph has every byte, and of several heaps says whose.
func TestProfile(t *testing.T) {
	s := snapshot(list(50))
	if p := s.Profile(""); p.Total() != 11*50 || p.Stacks[0].Labels != nil {
		t.Errorf("%d bytes, %v", p.Total(), p.Stacks[0].Labels)
	}
	s.Heaps = append(s.Heaps, Heap{PID: 2, Holders: Census(list(5), nil).Holders})
	p := s.Profile("")
	if p.Total() != 11*55 || p.Stacks[0].Labels["worker"] != "1" {
		t.Errorf("%d bytes, %v", p.Total(), p.Stacks[0].Labels)
	}
}

// TestLargestTables: they are the largest, with exact paths.
func TestLargestTables(t *testing.T) {
	m := list(100)
	m.sizes[3*7] = 5000
	h := Census(m, nil)
	if len(h.Tables) != mostTables || h.Tables[0].Bytes != 5000 {
		t.Fatalf("%d tables, the first is %+v", len(h.Tables), h.Tables[0])
	}
	if len(h.CData) == 0 {
		t.Error("no C data")
	}
}
