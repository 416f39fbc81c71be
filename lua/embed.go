// Package lua hands the Lua library to the binary.
package lua

import "embed"

// Library holds the folder moonlap of the Lua library, as lua/moonlap in the source. The C library that
// moonlap.uv loads is not in it: script/build makes that beside the binary.
//
//go:embed moonlap
var Library embed.FS
