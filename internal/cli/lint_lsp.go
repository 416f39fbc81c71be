package cli

import (
	"errors"
	"strings"

	"github.com/moonlap/moonlap/internal/lint"
	"github.com/moonlap/moonlap/internal/lint/lsp"
	"github.com/moonlap/moonlap/internal/ui"
)

// serve is a language server on stdin and stdout.
func (l *linting) serve(sys Sys, o lintOptions) error {
	session := lint.NewSession(lint.Options{LuaJIT: l.luajit, Settings: l.settings, Rules: l.on(o)})
	defer session.Close()
	server := lsp.Server{
		Lint: func(path string, text []byte) *lint.Report {
			report := session.Text(path, text)
			report.Apply(l.prices, l.asked(o))
			return report
		},
		About: func(f lint.Finding) string {
			text := "**" + f.Rule + "**"
			if f.Price != nil {
				text += ": " + f.Price.Text(ui.NewPage(ui.Options{}).Glyphs, sys.Now())
			}
			if r := l.rule(f.Rule); r != nil {
				_, about, _ := strings.Cut(r.About, "\n")
				text += "\n" + strings.TrimRight(about, "\n")
			}
			return text
		},
	}
	orderly, err := server.Serve(sys.Stdin, sys.Stdout)
	if err == nil && !orderly {
		err = errors.New("the editor went away without shutdown")
	}
	return err
}
