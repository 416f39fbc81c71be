//go:build !amd64

package main

import "fmt"

var bareCounterTwice func(n, links int)

func floor(int) {
	fmt.Print("What the bare instructions add to a body: written for amd64 only.\n\n")
}
