package lapplot

import (
	"cmp"
	"image"
	"image/color"
	"maps"
	"slices"
)

// paletted is an opaque picture in at most 256 colours, which takes half the room: the inks, then the most frequent ones, and instead of the others, which are edges of lines, those
// nearest.
func paletted(img *image.RGBA) *image.Paletted {
	count := map[color.RGBA]int{}
	eachRun(img, func(_, length int, c color.RGBA) { count[c] += length })
	for _, c := range lightInks {
		count[color.RGBA(c)] += len(img.Pix) // opaque, so that RGBA and NRGBA are the same
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	p := image.NewPaletted(img.Rect, nil)
	index := map[color.RGBA]uint8{}
	for i, c := range colors {
		if i < 256 {
			p.Palette = append(p.Palette, c)
			index[c] = uint8(i)
		} else {
			index[c] = uint8(p.Palette.Index(c))
		}
	}
	eachRun(img, func(from, length int, c color.RGBA) {
		at := index[c]
		for i := from; i < from+length; i++ {
			p.Pix[i] = at
		}
	})
	return p
}

// eachRun visits the stretches of pixels of one colour.
func eachRun(img *image.RGBA, visit func(from, length int, c color.RGBA)) {
	pixels := len(img.Pix) / 4
	at := func(i int) color.RGBA { return color.RGBA{img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], 0xff} }
	for from := 0; from < pixels; {
		c, end := at(from), from+1
		for end < pixels && at(end) == c {
			end++
		}
		visit(from, end-from, c)
		from = end
	}
}
