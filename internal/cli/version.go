package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand(sys Sys) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print moonlap's version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(sys.Stdout, "moonlap %s %s/%s %s%s\n",
				version, runtime.GOOS, runtime.GOARCH, runtime.Version(), revision())
			return err
		},
	}
}

// revision is the commit that the binary was built from, where the build knew it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = " " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + dirty
}
