package record

import "testing"

// TestSaid: where a module was looked for is left out, all else of a fault stays.
func TestSaid(t *testing.T) {
	missing := "module 'no.such' not found:\n\tno field package.preload['no.such']\n\tno file './no/such.lua'\n\tno file '/usr/x.so'"
	for text, want := range map[string]string{
		missing: "module 'no.such' not found",
		missing + "\nstack traceback:\n\ta.lua:1": "module 'no.such' not found\nstack traceback:\n\ta.lua:1",
		"there is no file 'x'":                    "there is no file 'x'",
		"boom":                                    "boom",
	} {
		if got := (Fault{Text: text}).Said(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
