// Truth asks how often a comparison says "different" of two equal programs, and how often
// of two that differ by a known share, while other work comes and goes on the machine.
// Moonlap, benchstat and hyperfine get the same workloads in the same run:
//
//	go build -o ../../bin/moonlap ../../cmd/moonlap && go run . -equal 200 -each 40
//	go run . -tools moonlap,blind -effects 0.02,0.05 -time 30s    # how long a verdict takes, with and without yardsticks
//
// Every outcome is appended to -out as it comes; -summary FILE prints the tables again.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/benchmarks/outcomes"
)

// An outcome is what one tool said of one comparison.
type outcome struct {
	Tool    string    `json:"tool"`
	Work    string    `json:"work"`
	Effect  float64   `json:"effect"` // 0.02: the second side is 2 % slower
	Says    string    `json:"says"`   // "slower", "faster", "same" or "undecided"
	Ratio   float64   `json:"ratio"`
	Welch   bool      `json:"welch,omitempty"` // of hyperfine: the test calls a difference
	Seconds float64   `json:"seconds"`
	Load    float64   `json:"load"`
	At      time.Time `json:"at"`
}

var effects = []float64{0.01, 0.02, 0.05, 0.10}

// effectsOf reads a list of shares.
func effectsOf(list string) (shares []float64, err error) {
	for _, text := range strings.Split(list, ",") {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || share <= 0 {
			return nil, fmt.Errorf("-effects %s: %q is no share such as 0.02", list, text)
		}
		shares = append(shares, share)
	}
	return shares, nil
}

func main() {
	log.SetFlags(0)
	equal := flag.Int("equal", 200, "comparisons of equal sides")
	each := flag.Int("each", 40, "comparisons for each injected slow-down")
	budget := flag.String("time", "4s", "moonlap's --time")
	moonlap := flag.String("moonlap", "../../bin/moonlap", "program to test")
	asked := flag.String("tools", "moonlap,benchstat,hyperfine", "which of these, and of blind: moonlap without yardsticks")
	shares := flag.String("effects", "0.01,0.02,0.05,0.1", "injected slow-downs")
	out := flag.String("out", "outcomes.jsonl", "where outcomes are appended")
	names := flag.String("works", "sum,words,branch", "workloads to draw from")
	how := flag.String("how", "spin", "what makes a side slower: a calibrated spin, or that share more turns of the workload (more)")
	burst := flag.Float64("load", 1, "our own background load: busy processors while a burst lasts")
	summary := flag.String("summary", "", "print the tables of such a file, and measure nothing")
	flag.Parse()
	if *summary != "" {
		summarize(*summary)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	for range int(*burst) {
		go burn(ctx)
	}
	t, err := newTools(*moonlap, *budget, *how)
	if err == nil {
		effects, err = effectsOf(*shares)
	}
	if err == nil {
		err = t.choose(strings.Split(*asked, ","))
	}
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(t.folder)
	if err := measure(ctx, t, strings.Split(*names, ","), plan(*equal, *each), *out); err != nil {
		log.Print(err)
	}
	summarize(*out)
}

// plan is which effect each comparison has, in random order.
func plan(equal, each int) []float64 {
	var list []float64
	for range equal {
		list = append(list, 0)
	}
	for _, e := range effects {
		for range each {
			list = append(list, e)
		}
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func measure(ctx context.Context, t *tools, works []string, plan []float64, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for i, effect := range plan {
		work := works[rand.IntN(len(works))]
		order := slices.Clone(t.asked)
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, ask := range order {
			o := outcome{Work: work, Effect: effect, Load: outcomes.Load(), At: time.Now().UTC().Round(time.Second)}
			started := time.Now()
			if err := ask(ctx, &o); err != nil {
				return err
			}
			o.Seconds = time.Since(started).Seconds()
			line, err := json.Marshal(o)
			if err != nil {
				return err
			}
			if _, err := f.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d", i+1, len(plan))
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

// burn keeps a processor busy now and then: 0.3 to 6 s on, as long off.
func burn(ctx context.Context) {
	for ctx.Err() == nil {
		until := time.Now().Add(time.Duration(300+rand.IntN(5700)) * time.Millisecond)
		for time.Now().Before(until) {
		}
		time.Sleep(time.Duration(300+rand.IntN(5700)) * time.Millisecond)
	}
}

// here is this folder, where the Lua files are.
func here() string {
	folder, err := filepath.Abs(".")
	if err != nil || !strings.HasSuffix(folder, "truth") {
		log.Fatal("run it in benchmarks/truth")
	}
	return folder
}
