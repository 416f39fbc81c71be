package record

import (
	"io"
	"strings"

	"github.com/moonlap/moonlap/internal/jsontext"
)

// Mixed is the verdict over hosts that disagree: B is faster on some of them and slower on others.
const Mixed = "mixed"

// HostsResult is what the records of several hosts say together, as `moonlap report A.jsonl B.jsonl`
// prints it with --format json.
type HostsResult struct {
	Schema      string           `json:"schema"`
	Kind        string           `json:"kind"` // that of the records
	Hosts       []Host           `json:"hosts"`
	Cases       []HostsCase      `json:"cases"`
	Comparisons []HostComparison `json:"comparisons"`
	Warnings    []Warning        `json:"warnings"`
	Complete    bool             `json:"complete"`
}

// Host is one machine that measured.
type Host struct {
	Name        string      `json:"name"`
	File        string      `json:"file,omitempty"` // where its record is
	Environment Environment `json:"environment"`
	Warnings    []Warning   `json:"warnings,omitempty"`
	Complete    bool        `json:"complete"`
}

// HostsCase is the time of a case on each host, in the order of the hosts; nil where there is no figure.
type HostsCase struct {
	Name      string      `json:"name"`
	NSPerCall []*Interval `json:"ns_per_call"`
}

// HostComparison is one A/B over hosts. Ratios are B/A.
type HostComparison struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Metric string `json:"metric,omitempty"`
	// Ratio is that of a host like these: the mean of a random-effects model.
	Ratio Interval `json:"ratio"`
	// Next is where the ratio of one more such host lies; nil below three hosts.
	Next *Interval `json:"next,omitempty"`
	// Between is the standard deviation of the hosts' true ratios, relative.
	Between float64 `json:"between"`
	// Agreement is the probability that hosts with one true ratio differ as much as these.
	Agreement float64 `json:"agreement"`
	// Verdict is about hosts like these, Here about these hosts alone: what all of them found, or [Mixed].
	Verdict  string    `json:"verdict"`
	Here     string    `json:"here"`
	Hosts    []OnHost  `json:"hosts"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Found names the hosts by what they found: "faster on a, b; undecided on c".
func (c HostComparison) Found() string {
	var parts []string
	for _, verdict := range []string{Faster, Slower, NoDifference, Undecided} {
		var names []string
		for _, h := range c.Hosts {
			if h.Verdict == verdict {
				names = append(names, h.Host)
			}
		}
		if len(names) > 0 {
			parts = append(parts, verdict+" on "+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// OnHost is what one host found.
type OnHost struct {
	Host string `json:"host"`
	Comparison
}

// WriteHostsJSON writes what hosts found for programs. Its only error is that of w.
func WriteHostsJSON(w io.Writer, r *HostsResult) error {
	return jsontext.Write(w, r)
}
