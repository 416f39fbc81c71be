package lapplot

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// parsedFonts are the Go fonts, which come with golang.org/x/image.
var parsedFonts = sync.OnceValue(func() (f struct{ regular, bold, mono *sfnt.Font }) {
	f.regular, f.bold, f.mono = mustParse(goregular.TTF), mustParse(gobold.TTF), mustParse(gomono.TTF)
	return f
})

func mustParse(ttf []byte) *sfnt.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // a constant
	}
	return f
}

// newFace is a font at a size in px. A face is not safe for concurrent use.
func newFace(size float64, look face) font.Face {
	f := parsedFonts().regular
	switch {
	case look.mono:
		f = parsedFonts().mono
	case look.bold:
		f = parsedFonts().bold
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		panic(err) // sizes are constants
	}
	return face
}

var (
	measuring   sync.Mutex
	measureFace = sync.OnceValue(func() font.Face { return newFace(100, face{}) })
)

// textWidth is about how wide a text is, px: other fonts than ours come near.
func textWidth(s string, size float64) float64 {
	measuring.Lock()
	defer measuring.Unlock()
	return toFloat(font.MeasureString(measureFace(), s)) * size / 100
}

func toFloat(x fixed.Int26_6) float64 { return float64(x) / 64 }

// clipText makes one line of a text that is at most so wide, px.
func clipText(s string, size, width float64) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if s = shorten(s, 1000); textWidth(s, size) <= width {
		return s
	}
	for s != "" && textWidth(s+"…", size) > width {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	return s + "…"
}
