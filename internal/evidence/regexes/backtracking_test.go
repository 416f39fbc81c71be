package regexes

import "testing"

// TestBacktracks: repeats within repeats are named, those that cannot meet are not. Of a subject of a's with a "!" behind them, (a+)+,
// (\w+\s?)*, (a+|b)+, (b|a+)* and ((a+))+ took PCRE 8.39 four times as long for two letters more; (\d+,)*, (a++)+ and (ab?)+ did not.
func TestBacktracks(t *testing.T) {
	for pattern, want := range map[string]string{
		"^(a+)+$": "(a+)+", "(a*)*b": "(a*)*", `(\w+\s?)*$`: `(\w+\s?)*`, "^(?:a+)+$": "(?:a+)+", "^(a+|b)+$": "(a+|b)+", "^(b|a+)*$": "(b|a+)*",
		"^([a-z]+)*$": "([a-z]+)*", "^(.*,)*$": "(.*,)*", "^(a{1,})+$": "(a{1,})+", "^((a+))+$": "((a+))+", "x(a+)+?$": "(a+)+?",
		"^(?P<word>a+)+$": "(?P<word>a+)+", "^(?i:a+)+$": "(?i:a+)+",
		`^(\d+,)*$`: "", "^(a+)+": "(a+)+", "^(a+)++$": "", "^(a++)+$": "", "^(?>a+)+$": "", `^\(a+\)+$`: "", "[(a+)+]": "", "[]a+)]+": "", "(abc)+": "",
		"a+b+": "", "": "", "(": "", ")": "", "[": "", `\`: "", "(a+": "", "a{": "", "(a{2,3})+": "", "(ab?)+": "", "(a?)+": "", "(?": "", "(?P<": "",
	} {
		if got := backtracks(pattern); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// FuzzBacktracks: whatever users write, the reading ends.
func FuzzBacktracks(f *testing.F) {
	f.Add("^(a+)+[x]{2,}?|(?P<n>.)$")
	f.Fuzz(func(t *testing.T, pattern string) { backtracks(pattern) })
}
