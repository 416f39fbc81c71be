package lapplot

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// pixelsPerPX makes pictures sharp on screens of high density.
const pixelsPerPX = 1.5

// WritePNG writes the figure as PNG, 1500 pixels wide, on white.
func (f *Figure) WritePNG(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	p := &pixels{img: image.NewRGBA(image.Rect(0, 0, int(pageWidth*pixelsPerPX), int(math.Ceil(f.height()*pixelsPerPX))))}
	f.draw(p)
	return png.Encode(w, paletted(p.img))
}

// pixels is a canvas of pixels.
type pixels struct {
	img    *image.RGBA
	raster vector.Rasterizer
	faces  map[face]font.Face
}

func (p *pixels) group(string) {}

func (p *pixels) rect(x, y, width, height float64, with paint) {
	r := image.Rect(pixel(x), pixel(y), pixel(x+width), pixel(y+height))
	draw.Draw(p.img, r.Intersect(p.img.Bounds()), image.NewUniform(colorOf(with)), image.Point{}, draw.Over)
}

func (p *pixels) area(corners []xy, with paint) {
	p.fill([][]xy{corners}, with)
}

func (p *pixels) dots(at []xy, radius float64, with paint) {
	discs := make([][]xy, 0, len(at))
	for _, c := range at {
		discs = append(discs, disc(c, radius))
	}
	p.fill(discs, with)
}

func (p *pixels) lines(lines [][]xy, with pen) {
	var polygons [][]xy
	for _, l := range dashed(lines, with.dash) {
		for i := 1; i < len(l); i++ {
			if q := bar(l[i-1], l[i], with.width/2); q != nil {
				polygons = append(polygons, q)
			}
			if i > 1 && with.width > 1 {
				polygons = append(polygons, disc(l[i-1], with.width/2))
			}
		}
	}
	p.fill(polygons, with.paint)
}

// bar is a line as a polygon, its corners in the order of [disc]'s.
func bar(a, b xy, half float64) []xy {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	if length == 0 {
		return nil
	}
	dx, dy := (b.x-a.x)/length*half, (b.y-a.y)/length*half
	return []xy{{a.x + dy, a.y - dx}, {b.x + dy, b.y - dx}, {b.x - dy, b.y + dx}, {a.x - dy, a.y + dx}}
}

func disc(c xy, radius float64) []xy {
	const corners = 12
	points := make([]xy, corners)
	for i := range points {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		points[i] = xy{c.x + radius*cos, c.y + radius*sin}
	}
	return points
}

// fill fills polygons that all turn the same way: where they overlap they are one.
func (p *pixels) fill(polygons [][]xy, with paint) {
	extentX, extentY := nothing, nothing
	for _, polygon := range polygons {
		for _, c := range polygon {
			extentX, extentY = extentX.with(c.x*pixelsPerPX), extentY.with(c.y*pixelsPerPX)
		}
	}
	if extentX.empty() || extentY.empty() {
		return
	}
	area := image.Rect(int(math.Floor(extentX.low)), int(math.Floor(extentY.low)),
		int(math.Ceil(extentX.high))+1, int(math.Ceil(extentY.high))+1).Intersect(p.img.Bounds())
	if area.Empty() {
		return
	}
	p.raster.Reset(area.Dx(), area.Dy())
	to := func(c xy) (x, y float32) {
		return float32(c.x*pixelsPerPX - float64(area.Min.X)), float32(c.y*pixelsPerPX - float64(area.Min.Y))
	}
	for _, polygon := range polygons {
		p.raster.MoveTo(to(polygon[0]))
		for _, c := range polygon[1:] {
			p.raster.LineTo(to(c))
		}
		p.raster.ClosePath()
	}
	p.raster.Draw(p.img, area, image.NewUniform(colorOf(with)), image.Point{})
}

func (p *pixels) text(x, y float64, s string, f face) {
	face := p.face(f)
	width := toFloat(font.MeasureString(face, s))
	shift := 0.0
	switch f.anchor {
	case middle:
		shift = width / 2
	case end:
		shift = width
	}
	ink := image.NewUniform(colorOf(paint{f.ink, 1}))
	if !f.upward {
		d := font.Drawer{Dst: p.img, Src: ink, Face: face, Dot: dot(x*pixelsPerPX-shift, y*pixelsPerPX)}
		d.DrawString(s)
		return
	}
	high := int(f.size * pixelsPerPX * 1.5)
	lying := image.NewAlpha(image.Rect(0, 0, int(width)+2, high))
	d := font.Drawer{Dst: lying, Src: image.Opaque, Face: face, Dot: dot(0, float64(high)*0.75)}
	d.DrawString(s)
	turned := image.NewAlpha(image.Rect(0, 0, high, lying.Rect.Dx()))
	for i := range lying.Rect.Dx() {
		for j := range high {
			turned.SetAlpha(j, lying.Rect.Dx()-1-i, lying.AlphaAt(i, j))
		}
	}
	at := image.Pt(pixel(x)-int(float64(high)*0.75), pixel(y)-lying.Rect.Dx()+int(shift))
	draw.DrawMask(p.img, turned.Rect.Add(at), ink, image.Point{}, turned, image.Point{}, draw.Over)
}

// face is a font at the size and weight of f.
func (p *pixels) face(f face) font.Face {
	key := face{size: f.size, bold: f.bold, mono: f.mono}
	if p.faces == nil {
		p.faces = map[face]font.Face{}
	}
	if p.faces[key] == nil {
		p.faces[key] = newFace(f.size*pixelsPerPX, f)
	}
	return p.faces[key]
}

func dot(x, y float64) fixed.Point26_6 {
	return fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}
}

func pixel(x float64) int { return int(math.Round(x * pixelsPerPX)) }

func colorOf(p paint) color.NRGBA {
	c := lightInks[p.ink]
	c.A = uint8(math.Round(255 * p.opacity))
	return c
}

// dashed cuts lines into dashes, by lengths of dash and gap.
func dashed(lines [][]xy, dash []float64) [][]xy {
	if dash == nil {
		return lines
	}
	var cut [][]xy
	for _, l := range lines {
		var open []xy
		left, drawing := dash[0], true
		for i := 1; i < len(l); i++ {
			a, b := l[i-1], l[i]
			length := math.Hypot(b.x-a.x, b.y-a.y)
			for done := 0.0; done < length; {
				step := math.Min(left, length-done)
				from, to := done/length, (done+step)/length
				if drawing {
					if open == nil {
						open = []xy{{a.x + from*(b.x-a.x), a.y + from*(b.y-a.y)}}
					}
					open = append(open, xy{a.x + to*(b.x-a.x), a.y + to*(b.y-a.y)})
				}
				done += step
				if left -= step; left <= 0 {
					if drawing {
						cut, open = append(cut, open), nil
					}
					drawing = !drawing
					left = dash[1]
					if drawing {
						left = dash[0]
					}
				}
			}
		}
		if open != nil {
			cut = append(cut, open)
		}
	}
	return cut
}
