//go:build !linux

package memory

func keepCode() {}
