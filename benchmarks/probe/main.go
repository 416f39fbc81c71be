// Command probe measures `moonlap profile` on a real nginx worker under load: what it costs, and which
// stacks are whole, beside perf on the same load. accuracy.lua has the shares that are known.
package main

import (
	"flag"
	"log"
	"time"
)

// paths are the loads, see work.lua.
var paths = []string{"/text", "/compiled", "/interpreted", "/counts"}

const connections = 4

func main() {
	log.SetFlags(0)
	moonlap := flag.String("moonlap", "../../bin/moonlap", "the program to measure")
	rounds := flag.Int("rounds", 20, "rounds of cost")
	length := flag.Duration("length", 2*time.Second, "length of a slice of cost; complete takes five times that for each tool")
	flag.Usage = func() {
		log.Println("usage: probe [flags] cost|complete")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *rounds < 6 {
		log.Fatal("a 95 % interval needs at least 6 rounds")
	}
	var err error
	switch flag.Arg(0) {
	case "cost":
		err = cost(*moonlap, *rounds, *length)
	case "complete":
		err = complete(*moonlap, 5*(*length))
	default:
		flag.Usage()
		log.Fatal("cost or complete?")
	}
	if err != nil {
		log.Fatal(err)
	}
}
