package lint

import "testing"

// TestWrongIsNotSilenced: code that does the wrong thing is named also where it is as fast as the right one; a rule about
// time alone is silent then.
func TestWrongIsNotSilenced(t *testing.T) {
	same := func(rule string) *Price { return &Price{Rule: rule, Verdict: "no measurable difference"} }
	report := &Report{Findings: []Finding{{Rule: "global-written"}, {Rule: "concat-in-loop"}}}
	report.Apply(Prices{"global-written": same("global-written"), "concat-in-loop": same("concat-in-loop")}, func(string) bool { return false })
	if len(report.Findings) != 1 || report.Findings[0].Rule != "global-written" || report.Silent["concat-in-loop"] != 1 {
		t.Errorf("%+v, silent %v", report.Findings, report.Silent)
	}
}
