// Moonlap is the performance workbench for LuaJIT and OpenResty.
package main

import (
	"os"

	"github.com/moonlap/moonlap/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.Interruptible(), cli.RealSys(), os.Args[1:]))
}
