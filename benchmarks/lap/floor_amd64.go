package main

// Each is n turns of a chain of N links with one way to read the counter.
func nothing(n, links int)
func counter(n, links int)
func counterTwice(n, links int)
func fenceCounter(n, links int)
func counterFence(n, links int)
func fenceCounterFence(n, links int)
func ordered(n, links int)
func orderedFence(n, links int)

// bareCounterTwice is the least that a span on the counter can be.
var bareCounterTwice = counterTwice

// floor prints what the bare instructions add to a body, without a histogram, a call
// or a count: no lap on the counter can cost less. A way whose row is not constant has
// no one overhead to take off.
func floor(rounds int) {
	const turns = 5000
	lengths := []int{0, 1, 2, 4, 8, 16, 64, 256}
	ways := []struct {
		name string
		run  func(n, links int)
	}{
		{"body alone", nothing},
		{"RDTSC", counter},
		{"RDTSC twice, as hrtime", counterTwice},
		{"LFENCE RDTSC", fenceCounter},
		{"RDTSC LFENCE", counterFence},
		{"RDTSCP", ordered},
		{"LFENCE RDTSC LFENCE", fenceCounterFence},
		{"RDTSCP LFENCE", orderedFence},
	}
	var candidates []candidate
	for _, w := range ways {
		for _, links := range lengths {
			candidates = append(candidates, candidate{w.name, func() float64 {
				return perCall(turns, func() { w.run(turns, links) })
			}})
		}
	}
	printAdded("What the bare instructions add to a body, ns (lowest of all rounds):", len(lengths),
		candidates, interleave(rounds, candidates))
}
