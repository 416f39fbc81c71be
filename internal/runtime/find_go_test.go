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
