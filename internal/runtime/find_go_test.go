package runtime

import (
	"strings"
	"testing"
)

func TestNoGo(t *testing.T) {
	defer func(folders []string) { goFolders = folders }(goFolders)
	goFolders = nil
	_, err := Find(t.Context(), Go, Options{Path: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "install Go from https://go.dev/dl") {
		t.Errorf("%v", err)
	}
}

func TestFromHere(t *testing.T) {
	const said = "# m/a\n./a_test.go:5:51: undefined: b\n\t../c/c.go:1: other\n/usr/x.go:3: absolute\nnot a.go:7\nb.go:2:1: expected"
	const want = "# m/a\nsub/a_test.go:5:51: undefined: b\n\tc/c.go:1: other\n/usr/x.go:3: absolute\nnot a.go:7\nsub/b.go:2:1: expected"
	if got := (goPlace{written: "sub"}).fromHere(said); got != want {
		t.Error(got)
	}
}
