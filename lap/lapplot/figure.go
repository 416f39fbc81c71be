package lapplot

import (
	"errors"
	"math"
)

// A Figure is one or more charts, one below the other.
type Figure struct {
	Title  string
	Report string   // lines of fixed width below the title, a table perhaps
	Notes  []string // lines below that
	Ratios []Ratio
	Charts []*Chart
	Pages  []Page  // below the charts; in HTML alone
	Up     Cell    // a link above the title; in HTML alone
	Tables []Table // below the charts; in HTML alone
}

// A Table is rows of text below the charts of a page. Numbers stand to the right where Right says so.
type Table struct {
	Title   string   `json:"title"`
	Note    string   `json:"note,omitempty"` // below the title
	Headers []string `json:"headers"`
	Rows    [][]Cell `json:"rows"`
	Right   []int    `json:"right,omitempty"` // columns
}

// A Cell is a text, which leads to Link unless that is "".
type Cell struct {
	Text string `json:"text"`
	Link string `json:"link,omitempty"`
}

// A Page is a whole HTML document that is shown within another, in a frame of its own.
type Page struct{ Title, HTML string }

// A Ratio is how long B takes over A, as whoever compared them says. It is printed below
// the title.
type Ratio struct {
	A, B                string  // names of series
	Estimate, Low, High float64 // B/A, and its interval
	Verdict             string  // in words; may be empty
}

// A Chart is series over common axes.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
	Notes  []string // lines below the chart's title
}

// An Axis is how values become places. The ends of an axis follow from the series.
type Axis struct {
	Title string
	Unit  Unit
	Scale Scale
	// Labels, when there are any, stand at 0, 1, 2, … instead of numbers: commits, dates.
	Labels []string
}

// A Unit is what the numbers of an axis are.
type Unit uint8

// Units of an axis; the ticks choose among their multiples.
const (
	Number Unit = iota
	Time        // nanoseconds
	Bytes
	Share // of 1, printed as percent
	Times // ratios, printed as 1.05×
)

// A Scale is how an axis is stretched.
type Scale uint8

// Scales of an axis. On a Log axis values at or below 0 stand at its lower end. A Tail axis
// is HdrHistogram's: its values are 1/(1-p) on a logarithmic scale, its ticks say p.
const (
	Linear Scale = iota
	Log
	Tail
)

// A Style is how the points of a series are drawn.
type Style uint8

// Styles of a series.
const (
	// Lines joins the points. Where they have intervals, these are a band.
	Lines Style = iota
	// Steps keeps a point's Y up to the next point's X, filled down to 0 when Filled.
	Steps
	// Dots stand alone, their intervals as whiskers.
	Dots
	// Cells are rectangles from X on, as wide as the series says, and from Low to High: the more
	// opaque, the greater a point's Weight is. They make a heat map.
	Cells
)

// A Series is points of one name. Series of the same name share colour, legend and switch,
// also across the charts of a figure.
type Series struct {
	Name   string
	Style  Style
	Points []Point
	Marks  []Mark
	Filled bool // Steps: the area below is filled
	// Pale is what is shown but does not count, such as a warm-up. The vertical axis is made
	// for the other series; pale points far outside stand at its ends.
	Pale bool
	// Width is that of Cells.
	Width float64
}

// A Point is a value with its interval or extremes; Low and High equal Y where there are
// none. A Y that is no number ends a line there.
type Point struct {
	X, Y, Low, High float64
	Label           string  // shown on hovering
	Weight          float64 // of a cell, 0…1
}

// At is a point without an interval.
func At(x, y float64) Point { return Point{X: x, Y: y, Low: y, High: y} }

// Gap is a point that ends a line.
func Gap(x float64) Point { return Point{X: x, Y: math.NaN(), Low: math.NaN(), High: math.NaN()} }

func (p Point) isGap() bool { return math.IsNaN(p.Y) }

// A Mark is an event on the X axis: a trace was recorded, the collector ran.
type Mark struct {
	X     float64
	Kind  string // each kind has a sign of its own, which the legend names
	Label string // shown on hovering
}

// ErrEmpty says that there is nothing to draw.
var ErrEmpty = errors.New("lapplot: no laps to plot")

// hasPoints reports whether a chart has a point that can be drawn.
func (c *Chart) hasPoints() bool {
	for _, s := range c.Series {
		for _, p := range s.Points {
			if drawable(p) {
				return true
			}
		}
	}
	return false
}

// drawable points have finite coordinates.
func drawable(p Point) bool { return finite(p.X) && finite(p.Y) }

// finite numbers can be drawn: beyond 1e300 the arithmetic of the axes would overflow.
func finite(x float64) bool { return math.Abs(x) <= 1e300 }

// names of the series of all charts, in order of appearance: their place is their colour.
func (f *Figure) names() []string {
	var names []string
	seen := map[string]bool{}
	for _, c := range f.Charts {
		for _, s := range c.Series {
			if !seen[s.Name] {
				seen[s.Name] = true
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// kinds of marks of a chart, in order of appearance: their place is their sign.
func (c *Chart) kinds() []string {
	var kinds []string
	seen := map[string]bool{}
	for _, s := range c.Series {
		for _, m := range s.Marks {
			if !seen[m.Kind] {
				seen[m.Kind] = true
				kinds = append(kinds, m.Kind)
			}
		}
	}
	return kinds
}
