// Package digits asks what fmt costs where strconv would do: moonlap bench ./examples/go_digits
package digits

import (
	"fmt"
	"strconv"
	"testing"
)

func BenchmarkDigits(b *testing.B) {
	buf := make([]byte, 0, 20)
	b.Run("strconv", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			buf = strconv.AppendInt(buf[:0], int64(n), 10)
		}
	})
	b.Run("fmt", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			buf = fmt.Appendf(buf[:0], "%d", n)
		}
	})
}
