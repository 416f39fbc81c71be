// Command probe measures `moonlap profile` on real nginx workers under load: what it costs, which stacks
// are whole, beside perf on the same load, how often a lock's zone is found, and whether the profiler
// itself stays as it is for minutes; and which lines it names in compiled code. accuracy.lua has the shares that are known.
package main

import (
	"flag"
	"log"
	"strconv"
	"strings"
	"time"
)

// paths are the loads, see work.lua.
var paths = []string{"/text", "/compiled", "/interpreted", "/counts"}

// connections are so many that the worker has the next request when it is done with one: a worker that
// sleeps in between uses more CPU time a request, the more often the less there is to do.
const connections = 32

func main() {
	log.SetFlags(0)
	moonlap := flag.String("moonlap", "../../bin/moonlap", "the program to measure")
	pairs := flag.Int("pairs", 60, "pairs of slices of cost with each worker")
	length := flag.Duration("length", 150*time.Millisecond, "length of a slice of cost")
	whole := flag.Duration("whole", 15*time.Second, "time of each tool for complete, of each way for locks, of each length for resumes")
	long := flag.Duration("time", 10*time.Minute, "time for flat and ring")
	before := flag.String("before", "", "for lines: another moonlap to compare with")
	kinds := flag.String("kinds", "", "for lines: only the kinds of programs that match this `RE`")
	sources := flag.String("sources", "", "for real: the `folder` with checkouts of json.lua, router.lua and lua-resty-template")
	only := flag.String("load", "", "only this one of the loads "+strings.Join(paths, ", "))
	objects := flag.String("objects", "100000,1000000,5000000", "objects of each heap")
	spill := flag.String("spill", "", "for heap: moonlap's --spill `DIR`")
	limits := flag.String("limits", "300,600", "for heap with -spill: `MB` of moonlap's memory cgroup")
	flag.Usage = func() {
		log.Println("usage: probe [flags] cost|allocations|resumes|system|captures|calls|complete|locks|flat|ring|heap|lines|real|programs DIR")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *only != "" {
		paths = []string{*only}
	}
	if *pairs < 6 {
		log.Fatal("a 95 % interval needs at least 6 pairs")
	}
	var err error
	switch flag.Arg(0) {
	case "cost":
		err = cost(*moonlap, *pairs, *length)
	case "allocations":
		err = allocations(*moonlap, *pairs, *length)
	case "resumes":
		err = resumes(*moonlap, *pairs, *length, *whole)
	case "system":
		err = system(*moonlap, modes, *pairs, *length)
	case "captures":
		err = system(*moonlap, captureModes, *pairs, *length)
	case "ring":
		err = flat(*moonlap, paths[0], captureModes[0].flags, *long)
	case "calls":
		err = calls(*moonlap)
	case "complete":
		err = complete(*moonlap, *whole)
	case "locks":
		err = locks(*moonlap, *whole)
	case "flat":
		err = flat(*moonlap, paths[0], []string{"--hz", "99"}, *long)
	case "lines":
		err = lines(*moonlap, *before, *kinds, *length)
	case "programs":
		err = writePrograms(flag.Arg(1))
	case "real":
		err = realLines(*moonlap, *sources, *length)
	case "heap":
		if *spill != "" {
			err = spills(*moonlap, *spill, numbers("objects", *objects), numbers("limits", *limits))
		} else {
			err = heaps(*moonlap, numbers("objects", *objects))
		}
	default:
		flag.Usage()
		log.Fatal("cost, allocations, resumes, system, captures, calls, complete, locks, flat, ring, heap, lines, real or programs?")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// numbers are those of a flag's list.
func numbers(flag, list string) (all []int) {
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			log.Fatalf("-%s %s: %v", flag, list, err)
		}
		all = append(all, n)
	}
	return all
}
