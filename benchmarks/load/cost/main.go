// Cost compares the client CPU time of a request, user and system, of the load engine and of wrk: the same nginx, the
// same script, fresh processes in random order, paired by round.
//
//	make -C ../.. build && go run ./cost -rounds 8
//	go run ./cost -rounds 8 -peers      the plain load beside wrk2, oha, bombardier and h2load, where they are installed
//	go run ./cost -rounds 8 -loops      the plain load beside bare loops on moonlap.uv and luv, which only send and count
//
// It takes luajit, nginx, openssl and wrk (Debian: luajit2 nginx openssl wrk). With two processors the client is
// pinned to one and nginx to the other.
//
// A run that is interrupted prints what it has. Exit status: 0 ok, 1 error, 2 usage; go run says it in words and ends with 1 itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

const level = 0.95

func main() {
	rounds := flag.Int("rounds", 8, "rounds; in each, every client does every work once")
	seconds := flag.Int("seconds", 3, "length of one load")
	only := flag.String("only", "", "regular expression: the works to run, by name")
	others := flag.Bool("peers", false, "the plain load beside other load generators")
	loops := flag.Bool("loops", false, "the plain load beside bare loops on moonlap.uv and luv")
	flag.Parse()
	re, err := regexp.Compile(*only)
	if err == nil && *rounds < estimate.LeastForMedian(level) {
		err = fmt.Errorf("-rounds: a 95 %% interval needs at least %d", estimate.LeastForMedian(level))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, re, *others, *loops, *rounds, *seconds); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// A work is a load that both clients can do.
type work struct {
	Name        string
	Scheme      string
	Connections int
	Script      string
	AtMost      float64 // of wrk's CPU time a request
}

func works() (list []work) {
	for _, c := range []int{32, 128} {
		list = append(list,
			work{"plain", "http", c, "", 0.85},
			work{"request()", "http", c, scriptRequest, 0.75},
			work{"request() and response()", "http", c, scriptBoth, 0.72},
			work{"TLS", "https", c, "", 0.9},
			work{"pipelining, 16", "http", c, scriptPipeline, 0.9})
	}
	return list
}

// Each request of these scripts is built anew, as in wrk's own counter.lua and pipeline.lua.
const (
	scriptRequest = `local n = 0
request = function()
    n = n + 1
    wrk.headers["X-Counter"] = n
    return wrk.format(nil, "/" .. n)
end
`
	scriptBoth = scriptRequest + `local failed = 0
response = function(status, headers, body)
    if status ~= 200 then
        failed = failed + 1
    end
end
`
	scriptPipeline = `init = function()
    local r = {}
    for i = 1, 16 do
        r[i] = wrk.format(nil, "/?" .. i)
    end
    req = table.concat(r)
end
request = function()
    return req
end
`
)

func (w work) name() string { return fmt.Sprintf("%s, %d connections", w.Name, w.Connections) }

func run(ctx context.Context, re *regexp.Regexp, others, loops bool, rounds, seconds int) error {
	s, err := target.Start()
	if err != nil {
		return err
	}
	defer s.Close()
	from, first := time.Now(), target.LoadAverage()
	defer func() {
		fmt.Printf("\n%s to %s, load %.1f to %.1f\n", from.UTC().Format("2006-01-02 15:04"), time.Now().UTC().Format("15:04 MST"),
			first, target.LoadAverage())
	}()
	if others {
		return runPeers(ctx, s, rounds, seconds)
	}
	if loops {
		return runLoops(ctx, s, rounds, seconds)
	}
	return runWorks(ctx, s, re, rounds, seconds)
}

func runWorks(ctx context.Context, s *target.Server, re *regexp.Regexp, rounds, seconds int) error {
	var list []work
	for _, w := range works() {
		if re.MatchString(w.name()) {
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return errors.New("no work has such a name")
	}
	costs := map[string]map[string][]float64{} // ns a request, by work and client
rounds:
	for round := range rounds {
		for _, i := range rand.Perm(len(list)) {
			w := list[i]
			fmt.Fprintf(os.Stderr, "\r\033[Kround %d of %d: %s", round+1, rounds, w.name())
			if costs[w.name()] == nil {
				costs[w.name()] = map[string][]float64{}
			}
			for _, j := range rand.Perm(len(clients)) {
				ns, err := clients[j].run(s, w, seconds)
				if ctx.Err() != nil {
					break rounds
				}
				if err != nil {
					return fmt.Errorf("%s, %s: %w", clients[j].name, w.name(), err)
				}
				of := costs[w.name()]
				of[clients[j].name] = append(of[clients[j].name], ns)
			}
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	fmt.Print("| work | wrk, µs | moonlap, µs | moonlap / wrk | aim | reached |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, w := range list {
		printRow(w, costs[w.name()])
	}
	return nil
}

func printRow(w work, costs map[string][]float64) {
	pairs := ratios(costs["moonlap"], costs["wrk"])
	of, few := estimate.MedianInterval(pairs, level)
	if len(pairs) == 0 || few != nil {
		fmt.Printf("| %s | | | too few rounds | ≤ %.2f | |\n", w.name(), w.AtMost)
		return
	}
	fmt.Printf("| %s | %.2f | %.2f | %s | ≤ %.2f | %s |\n", w.name(), estimate.Median(costs["wrk"])/1e3,
		estimate.Median(costs["moonlap"])/1e3, interval(of), w.AtMost, reached(of, w.AtMost))
}

func interval(i record.Interval) string {
	return fmt.Sprintf("%.3f [%.3f, %.3f]", i.Estimate, i.Low, i.High)
}

// reached judges by the whole interval: an aim within it is open.
func reached(of record.Interval, most float64) string {
	switch {
	case of.High <= most:
		return "yes"
	case of.Low > most:
		return "no"
	}
	return "open"
}
