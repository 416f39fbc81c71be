package host

import "testing"

func TestUsage(t *testing.T) {
	before := usageOf("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1\n")
	after := usageOf("cpu  150 0 120 720 110 0 0 0 0 0\n")
	if got := after.Share(before); got != 0.7 {
		t.Errorf("busy for %g of the time", got)
	}
	for _, bad := range []string{"", "cpu 1 2", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"} {
		if u := usageOf(bad); u != (Usage{}) || u.Share(u) != 0 {
			t.Errorf("%q: %+v", bad, u)
		}
	}
	if u := ReadUsage(); !(u.All > 0) {
		t.Skip("this system has no /proc/stat")
	}
}
