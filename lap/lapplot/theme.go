package lapplot

import (
	"fmt"
	"image/color"
)

// An ink is a colour by its use, so that light and dark pictures are drawn alike.
type ink int

const (
	paper ink = iota
	text
	muted
	grid
	firstHue // the first of the series' colours
)

// hues is how many series are told apart by colour alone; the next ones are dashed.
const hues = 8

// The series' colours follow Okabe and Ito's palette, which people with any kind of colour
// vision tell apart, darkened for white and lightened for dark paper.
var lightInks = [firstHue + hues]color.NRGBA{
	rgb(0xffffff), rgb(0x1f2328), rgb(0x59636e), rgb(0xdfe3e8),
	rgb(0x0067b1), rgb(0xd55e00), rgb(0x008a63), rgb(0xb5428f),
	rgb(0x9a6b00), rgb(0x2f9fd8), rgb(0x6f4fc0), rgb(0x6b7280),
}

var darkInks = [firstHue + hues]color.NRGBA{
	rgb(0x14171c), rgb(0xe6e9ee), rgb(0x9aa4b2), rgb(0x2d333d),
	rgb(0x58a9f0), rgb(0xff8a3d), rgb(0x34c79a), rgb(0xe58bc6),
	rgb(0xe6b84a), rgb(0x8fd3f5), rgb(0xb29cf2), rgb(0xb8c0cc),
}

func rgb(x uint32) color.NRGBA {
	return color.NRGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 0xff}
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// hueOf is the colour of the i-th name.
func hueOf(i int) ink { return firstHue + ink(i%hues) }

// dashOf are the lengths of dashes and gaps of the i-th name; nil is a full line.
func dashOf(i int) []float64 {
	switch i / hues % 3 {
	case 1:
		return []float64{7, 4}
	case 2:
		return []float64{2, 3}
	}
	return nil
}
