package gotest

import "testing"

// TestFromHere: positions that the go command names lead there from where the user is.
func TestFromHere(t *testing.T) {
	const said = "# m/a\n./a_test.go:5:51: undefined: b\n\t../c/c.go:1: other\n/usr/x.go:3: absolute\nnot a.go:7\nb.go:2:1: expected"
	const want = "# m/a\nsub/a_test.go:5:51: undefined: b\n\tc/c.go:1: other\n/usr/x.go:3: absolute\nnot a.go:7\nsub/b.go:2:1: expected"
	if got := (goPlace{written: "sub"}).fromHere(said); got != want {
		t.Error(got)
	}
}
