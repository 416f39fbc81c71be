package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func newRunCommand(sys Sys) *cobra.Command {
	return &cobra.Command{
		Use:   "run [flags] FILE|- [ARGS]",
		Short: "Run a plain Lua script in a real nginx worker",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("not there yet")
		},
	}
}
