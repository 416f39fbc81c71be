// Memory follows the resident memory of the load engine over a long load, with a script that builds each batch of
// requests and looks into each response:
//
//	make -C ../.. build && go run ./memory -requests 100000000
//
// It takes luajit, nginx and openssl. Exit status: 0 flat, 1 error or not flat, 2 usage.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moonlap/moonlap/benchmarks/load/target"
)

// Sixteen requests a batch, so that a long load takes minutes. Every batch is a text that was never there before.
const script = `local n = 0
request = function()
    n = n + 1
    wrk.headers["X-Counter"] = n
    return wrk.format(nil, "/" .. n):rep(16)
end
local failed = 0
response = function(status, headers, body)
    if status ~= 200 or #body ~= 12 or headers["Server"] == nil then
        failed = failed + 1
    end
end
`

// most is by how much the second half may take more than the first, as a share.
const most = 0.01

func main() {
	requests := flag.Int("requests", 100_000_000, "how many")
	flag.Parse()
	if *requests < 1_000_000 {
		fmt.Fprintln(os.Stderr, "memory: -requests: at least 1000000")
		os.Exit(2)
	}
	if err := run(*requests); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

// A sample is how much memory the engine had at a time.
type sample struct {
	after time.Duration
	kib   int
}

func run(requests int) error {
	s, err := target.Start()
	if err != nil {
		return err
	}
	defer s.Close()
	path, err := s.Script(script)
	if err != nil {
		return err
	}
	var samples []sample
	begin := time.Now()
	s.Beside = func(pid int) {
		if kib := resident(pid); kib > 0 {
			samples = append(samples, sample{time.Since(begin), kib})
		}
	}
	responses := 0.0
	_, err = s.Engine("http", fmt.Sprintf("script=%q", path), fmt.Sprintf("connections=32, requests=%d, duration_ns=36000e9", requests),
		func(line target.Slice) error {
			responses += line.Responses
			return nil
		})
	if err != nil {
		return err
	}
	return judge(samples, responses)
}

func judge(samples []sample, responses float64) error {
	if len(samples) < 20 {
		return fmt.Errorf("%d samples are too few", len(samples))
	}
	samples = samples[:len(samples)-1] // the last one may be of processes that end
	fmt.Printf("%.0f responses in %s\n\n| share of the run | resident, MB |\n| --- | --- |\n", responses, samples[len(samples)-1].after.Round(time.Second))
	for tenth := range 11 {
		one := samples[tenth*(len(samples)-1)/10]
		fmt.Printf("| %d %% | %.1f |\n", 10*tenth, float64(one.kib)/1024)
	}
	rest := samples[len(samples)/10:] // the first tenth fills caches and histograms
	first, second := highest(rest[:len(rest)/2]), highest(rest[len(rest)/2:])
	grown := float64(second)/float64(first) - 1
	fmt.Printf("\nhighest after the first tenth: %.1f MB in the first half, %.1f MB in the second: %+.2f %%\n",
		float64(first)/1024, float64(second)/1024, 100*grown)
	if grown > most {
		return fmt.Errorf("memory grows: by more than %g %%", 100*most)
	}
	return nil
}

func highest(list []sample) (kib int) {
	for _, s := range list {
		kib = max(kib, s.kib)
	}
	return kib
}

// resident is the memory of a process and of its children, in KiB, what they share counted by its part; 0: it has ended.
func resident(pid int) (kib int) {
	pids := []string{strconv.Itoa(pid)}
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range children {
		text, _ := os.ReadFile(file)
		pids = append(pids, strings.Fields(string(text))...)
	}
	for _, p := range slices.Compact(pids) {
		text, _ := os.ReadFile("/proc/" + p + "/smaps_rollup")
		for line := range strings.Lines(string(text)) {
			if digits, ok := strings.CutPrefix(line, "Pss:"); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(digits), "kB")))
				kib += n
			}
		}
	}
	return kib
}
