package record

import (
	"io"
	"slices"
	"strconv"
	"time"
)

// History is what the history store holds: of each case, its figures over time.
type History struct {
	Schema string      `json:"schema"`
	Kind   string      `json:"kind"`  // "history"
	Names  []SavedName `json:"names"` // that runs are kept under, newest first
	Series []Series    `json:"series"`
}

// SavedName is a name that runs are kept under.
type SavedName struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
	Last string `json:"last"` // start of the newest, RFC 3339, UTC
	// Files are the bench files of its runs; the newest run of a file is its baseline.
	Files []string `json:"files"`
}

// Series are the figures of one case, all measured under the same setting.
type Series struct {
	Case    string  `json:"case"`
	File    string  `json:"file,omitempty"` // bench file, without its folder
	Kind    string  `json:"kind"`           // command that measured: "bench", …
	Setting []Fact  `json:"setting"`
	Points  []Point `json:"points"` // in order of time
	Steps   []Step  `json:"steps"`
}

// Fact is something that figures depend on beside the code: "cpu", "governor", "VM", …
type Fact struct {
	What  string `json:"what"`
	Value string `json:"value"`
}

// Point is the figure of one run.
type Point struct {
	Started   string    `json:"started"` // RFC 3339, UTC
	Commit    string    `json:"commit,omitempty"`
	Dirty     bool      `json:"dirty,omitempty"` // the working tree had changes
	SavedAs   string    `json:"saved_as"`
	Record    string    `json:"record"`      // file name in the store
	NSPerCall *Interval `json:"ns_per_call"` // nil: the run found no single figure
	Processes int       `json:"processes"`
	// Slowed is by how much the machine may have slowed the run, by its yardsticks: 0.4 is 40 %. Such a run weighs less.
	Slowed     float64            `json:"slowed,omitempty"`
	Yardsticks map[string]float64 `json:"yardsticks,omitempty"` // the best that the run knew of, ns by kind
}

// Step is a change of level in a series that its intervals and its noise don't explain.
type Step struct {
	At     int      `json:"at"`     // index of the first point on the new level
	Ratio  Interval `json:"ratio"`  // of the new level to the one before
	Before float64  `json:"before"` // the levels, ns per call
	After  float64  `json:"after"`
}

// ShortCommit is what a point's run had checked out, in short, with + for changes beyond it.
func (p Point) ShortCommit() string {
	c := p.Commit[:min(8, len(p.Commit))]
	if p.Dirty {
		c += "+"
	}
	return c
}

// Minute is when the run began, to the minute, UTC: "2026-11-21 02:00".
func (p Point) Minute() string { return Minute(p.Started) }

// Name is how readers know the run: its commit, or its minute where that is not known.
func (p Point) Name() string {
	if c := p.ShortCommit(); c != "" {
		return c
	}
	return p.Minute()
}

// Minute is a time of RFC 3339 to the minute, UTC; what is none stays as it is.
func Minute(rfc3339 string) string {
	t, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		return rfc3339
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// Apart are the facts of a series' setting that another setting does not share, "unknown"
// where only that one knows.
func (s Series) Apart(from []Fact) []Fact {
	var apart []Fact
	for _, f := range s.Setting {
		if !slices.Contains(from, f) {
			apart = append(apart, f)
		}
	}
	for _, f := range from {
		if !slices.ContainsFunc(s.Setting, func(g Fact) bool { return g.What == f.What }) {
			apart = append(apart, Fact{f.What, "unknown"})
		}
	}
	return apart
}

// historyColumns are the columns of [WriteHistoryCSV]. Times of a call are ns.
var historyColumns = []string{
	"case", "file", "series", "started", "commit", "dirty", "saved_as", "ns_per_call", "low", "high", "processes", "slowed", "step", "record",
}

// WriteHistoryCSV writes one row a point under a header (RFC 4180). Series are numbered
// from 1; a step is the ratio to the level before, in the row of its first point.
func WriteHistoryCSV(w io.Writer, h *History) error {
	rows := [][]string{historyColumns}
	for number, s := range h.Series {
		for i, p := range s.Points {
			figure, step := make([]string, 3), ""
			if iv := p.NSPerCall; iv != nil {
				figure = []string{decimal(iv.Estimate), decimal(iv.Low), decimal(iv.High)}
			}
			for _, st := range s.Steps {
				if st.At == i {
					step = decimal(st.Ratio.Estimate)
				}
			}
			row := []string{s.Case, s.File, strconv.Itoa(number + 1), p.Started, p.Commit, strconv.FormatBool(p.Dirty), p.SavedAs}
			rows = append(rows, append(append(row, figure...), strconv.Itoa(p.Processes), decimal(p.Slowed), step, p.Record))
		}
	}
	return writeCSV(w, rows)
}
