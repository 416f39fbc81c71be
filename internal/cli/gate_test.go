package cli

import (
	"bytes"
	"strings"
	"testing"
)

// The gate is trusted when it passes what is equal as often as it claims and finds most
// slow-downs; text and JSON say so with both rates.
func TestGateIsTrusted(t *testing.T) {
	for _, c := range []struct {
		what                       string
		repetitions, failed, found int
		trusted                    bool
		says                       string
	}{
		{"sound", 20, 0, 20, true, "can be trusted here"},
		{"one false alarm in twenty", 20, 1, 19, true, "failed 1 of 20: 5 % (0–25 %)"},
		{"more false alarms than chance has", 20, 5, 20, false, "fails what is equal"},
		{"lets slow-downs pass", 20, 0, 15, false, "lets slow-downs pass"},
		{"too few", 5, 0, 5, false, "Too few repetitions for a verdict: at least 6"},
		{"none", 0, 0, 0, false, "Too few repetitions"},
	} {
		o := gateOptions{gate: 0.03, slowdown: 0.10}
		p := gateProof{Repetitions: c.repetitions, Failed: c.failed, Found: c.found}
		p.judge(&o)
		var text, json bytes.Buffer
		if err := p.write(&text, &o); err != nil {
			t.Fatal(err)
		}
		o.shared.format = "json"
		if err := p.write(&json, &o); err != nil {
			t.Fatal(err)
		}
		if p.Trusted != c.trusted || !strings.Contains(text.String(), c.says) {
			t.Errorf("%s: trusted %v, and\n%s", c.what, p.Trusted, text.String())
		}
		if !strings.Contains(json.String(), `"equal_failed_rate"`) || !strings.Contains(json.String(), `"slowed_failed_rate"`) {
			t.Errorf("%s: a rate is missing in\n%s", c.what, json.String())
		}
	}
}
