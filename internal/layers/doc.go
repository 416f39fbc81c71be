// Package layers keeps the import rules of the house: its tests read the table of
// rooms in docs/architecture.md and hold every Go file and Lua module to it, so the
// document and the rule cannot differ. It has no code of its own.
package layers
