// Package rules hands the rules of moonlap lint to the binary: a folder each, with rule.lua, about.md and a pair that shows what
// it is about.
package rules

import "embed"

// Files are the folders of the rules.
//
//go:embed */rule.lua */about.md */bad.* */good.* prices.json
var Files embed.FS
