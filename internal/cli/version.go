package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersionCommand(sys Sys) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print moonlap's version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(sys.Stdout, versionLine())
			return err
		},
	}
}

// versionLine is what 'moonlap version' and 'moonlap --version' print.
func versionLine() string {
	return fmt.Sprintf("moonlap %s %s/%s %s%s\n",
		version, runtime.GOOS, runtime.GOARCH, runtime.Version(), revision())
}

// init takes the module's version where the linker set none, as after 'go install …@v1.2.3'.
func init() {
	if info, ok := debug.ReadBuildInfo(); ok && version == "dev" && strings.HasPrefix(info.Main.Version, "v") {
		version = strings.TrimPrefix(info.Main.Version, "v")
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
