//go:build !linux || !amd64

package memory

func endDecoy() {}
