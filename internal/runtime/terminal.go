package runtime

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether the code's stdin is a terminal. Such a process stays in
// our process group: one in the background would be stopped when it reads.
func isTerminal(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
