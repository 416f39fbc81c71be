// Package docs keeps the documentation true: its tests run every command that the README,
// the tutorial and the how-to pages show, every example, and compare the reference pages
// with the program. It has no code of its own.
//
// A fenced block marked "console" holds commands, each behind "$ ", and what they print. A
// test runs them and compares the shape: figures, units and bars may differ, words may not.
// A line "…" stands for any lines. `go test ./internal/docs -run Console -update` runs the
// commands at full length and writes what they print today into the pages.
//
// A comment before a block says how its test is run, and what it must print:
//
//	<!-- console id=dead MOONLAP_PROCESSES=12 wants="no more time" -->
//
// Variables count in tests only; claims_test.go holds figures of blocks with an id
// against each other.
package docs
