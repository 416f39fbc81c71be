package lapplot

// A canvas is what charts are drawn on: SVG or pixels. Coordinates are px from the upper
// left corner.
type canvas interface {
	// rect fills a rectangle.
	rect(x, y, width, height float64, p paint)
	// lines draws polylines with one pen.
	lines(lines [][]xy, p pen)
	// area fills a polygon.
	area(corners []xy, p paint)
	// dots fills a disc around each point.
	dots(at []xy, radius float64, p paint)
	// text writes with the baseline at y.
	text(x, y float64, s string, f face)
	// group begins what belongs to a named part of the picture; groups don't nest.
	group(name string)
}

type xy struct{ x, y float64 }

// A paint is a colour and how opaque it is, 0…1.
type paint struct {
	ink     ink
	opacity float64
}

type pen struct {
	paint
	width float64
	dash  []float64
}

// A face is how text looks.
type face struct {
	size   float64
	ink    ink
	anchor anchor
	bold   bool
	mono   bool // all signs are as wide
	upward bool // turned by a quarter, to be read from below
}

type anchor uint8

const (
	start anchor = iota
	middle
	end
)
