package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// A peer is another load generator, and how to have it send as many requests as it can.
type peer struct {
	program string
	args    func(connections, seconds int, url string) []string
	total   *regexp.Regexp // of its output: how many were answered
}

// wrk2 takes a rate: one that no client here can send.
var peers = []peer{
	{"wrk2", func(c, s int, url string) []string {
		return []string{"-t1", fmt.Sprint("-c", c), fmt.Sprintf("-d%ds", s), "-R2000000", url}
	}, wrkTotal},
	{"oha", func(c, s int, url string) []string {
		return []string{"--no-tui", "-c", fmt.Sprint(c), "-z", fmt.Sprintf("%ds", s), "--output-format", "json", url}
	}, regexp.MustCompile(`"200": (\d+)`)},
	{"bombardier", func(c, s int, url string) []string {
		return []string{"-c", fmt.Sprint(c), "-d", fmt.Sprintf("%ds", s), "-p", "r", "-o", "json", url}
	}, regexp.MustCompile(`"req2xx":(\d+)`)},
	{"h2load", func(c, s int, url string) []string {
		return []string{"--h1", "-t1", "-c", fmt.Sprint(c), "-D", fmt.Sprint(s), url}
	}, regexp.MustCompile(`(\d+) succeeded`)},
}

func (p peer) run(s *target.Server, w work, seconds int) (float64, error) {
	cmd := target.Pinned(append([]string{p.program}, p.args(w.Connections, seconds, s.URL(w.Scheme))...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	found := p.total.FindStringSubmatch(out.String())
	if found == nil {
		return 0, fmt.Errorf("no total in what it printed:\n%s", out.String())
	}
	n, err := strconv.ParseFloat(found[1], 64)
	return perRequest(cmd, n, err)
}

// runPeers compares the plain load with every peer that is on this machine, and names those that are not.
func runPeers(ctx context.Context, s *target.Server, rounds, seconds int) error {
	list := clients
	for _, p := range peers {
		if _, err := exec.LookPath(p.program); err != nil {
			fmt.Printf("%s: not measured, as it is not installed\n\n", p.program)
			continue
		}
		list = append(list, client{p.program, p.run})
	}
	fmt.Print("| client | connections | client, µs | moonlap, µs | moonlap / client |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range []int{32, 128} {
		w := work{Name: "plain", Scheme: "http", Connections: c}
		costs, err := interleaved(ctx, s, w, list, rounds, seconds)
		if err != nil {
			return err
		}
		for _, one := range list {
			if one.name != "moonlap" {
				of, _ := estimate.MedianInterval(ratios(costs["moonlap"], costs[one.name]), level)
				fmt.Printf("| %s | %d | %.2f | %.2f | %s |\n", one.name, c, estimate.Median(costs[one.name])/1e3,
					estimate.Median(costs["moonlap"])/1e3, interval(of))
			}
		}
	}
	return nil
}

// ratios pairs by round; of a round that was interrupted there may be one alone.
func ratios(of, to []float64) (list []float64) {
	for i := range min(len(of), len(to)) {
		list = append(list, of[i]/to[i])
	}
	return list
}
