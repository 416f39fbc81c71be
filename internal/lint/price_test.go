package lint

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestPricesOfAnotherVM: prices hold for the VM, machine and processor that they were measured on; others get the shipped ones, which say where
// they are from. A file that is spoiled is named, and takes nothing away.
func TestPricesOfAnotherVM(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	own := &Price{Rule: "regex-flags", Verdict: record.Slower, Difference: record.Interval{Estimate: 7}, VM: "A", Machine: "m", CPU: "c", Measured: time.Now()}
	file, err := KeepPrices("A", "m", Prices{"regex-flags": own})
	if err != nil {
		t.Fatal(err)
	}
	cpu := "c"
	of := func(vm, machine string) (*Price, error) {
		prices, err := ReadPrices(vm, machine, cpu)
		if len(prices) < 20 {
			t.Errorf("%d prices for %s, %s", len(prices), vm, machine)
		}
		return prices["regex-flags"], err
	}
	if p, err := of("A", "m"); err != nil || p.Shipped || p.Difference.Estimate != 7 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, other := range [][2]string{{"B", "m"}, {"A", "n"}} {
		if p, err := of(other[0], other[1]); err != nil || !p.Shipped || p.Difference.Estimate == 7 {
			t.Errorf("%v: %+v, %v", other, p, err)
		}
	}
	cpu = "another"
	if p, err := of("A", "m"); err != nil || !p.Shipped {
		t.Errorf("on another processor: %+v, %v", p, err)
	}
	cpu = "c"
	// One that was put under another VM's name is not believed either.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other, err := pricesFile("B", "m")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := of("B", "m"); err != nil || !p.Shipped {
		t.Errorf("%+v, %v", p, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := of("A", "m"); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "--measure") || !p.Shipped {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestMiddle: runs that do not agree are undecided, and the words do not contradict the interval.
func TestMiddle(t *testing.T) {
	price := func(verdict string, low, high float64) *Price {
		return &Price{Verdict: verdict, Difference: record.Interval{Estimate: (low + high) / 2, Low: low, High: high}}
	}
	for _, tt := range []struct {
		prices []*Price
		want   string
	}{
		{[]*Price{price(record.Slower, 3, 5), price(record.Slower, 4, 8), price(record.Slower, 5, 9)}, "6.00 ns more a call"},
		{[]*Price{price(record.Slower, 3, 5), price(record.Slower, 4, 8), price(record.Undecided, -9, 1)}, "no difference was shown: -9.00 ns to 8.00 ns"},
		{[]*Price{price(record.Slower, 3, 5), price(record.NoDifference, 0.1, 0.2)}, "its runs do not agree: 0.10 ns to 5.00 ns"},
	} {
		if got, _ := middle(tt.prices).amount(ui.Glyphs{}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
