// Memory follows the memory of the load engine over a long load, with a script that builds each batch of requests and
// looks into each response:
//
//	make -C ../.. build && go run ./memory -requests 100000000
//
// The server is answer/answer.c, which only answers: with nginx a long load would take ten times as long.
//
// It takes luajit and cc. Exit status: 0 flat, 1 error or not flat, 2 usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

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
	at  time.Duration // CLOCK_MONOTONIC
	kib int
}

// A course is how many responses there were by a time.
type course struct {
	began time.Duration
	at    []time.Duration // since then
	by    []float64
}

func (c *course) add(s target.Slice) {
	total := s.Responses
	if n := len(c.by); n > 0 {
		total += c.by[n-1]
	}
	c.at, c.by = append(c.at, time.Duration(s.AtNS+s.NS)), append(c.by, total)
}

// when is the time by which there was a number of responses; false where there never was.
func (c *course) when(responses float64) (time.Duration, bool) {
	i, _ := slices.BinarySearch(c.by, responses)
	if i == len(c.by) {
		return 0, false
	}
	return c.began + c.at[i], true
}

func run(requests int) error {
	s, err := target.StartProgram("memory/answer/answer.c")
	if err != nil {
		return err
	}
	defer s.Close()
	path, err := s.Script(script)
	if err != nil {
		return err
	}
	var samples []sample
	s.Beside = func(pid int) {
		var now unix.Timespec
		if kib := resident(pid); kib > 0 && unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
			samples = append(samples, sample{time.Duration(now.Nano()), kib})
		}
	}
	var c course
	from, first := time.Now().UTC(), target.LoadAverage()
	_, err = s.Engine("http", fmt.Sprintf("script=%q", path), fmt.Sprintf("connections=32, requests=%d, duration_ns=36000e9", requests),
		func(line target.Slice) error {
			c.add(line)
			return nil
		})
	if err != nil {
		return err
	}
	c.began = s.Began
	fmt.Printf("%s to %s, load %.1f to %.1f\n\n", from.Format("2006-01-02 15:04"), time.Now().UTC().Format("15:04 MST"),
		first, target.LoadAverage())
	return judge(samples, &c)
}

func judge(samples []sample, c *course) error {
	samples = slices.DeleteFunc(samples, func(s sample) bool { // it begins, or its processes end
		return s.at < c.began || s.at > c.began+c.at[len(c.at)-1]
	})
	if len(samples) < 20 {
		return fmt.Errorf("%d samples are too few", len(samples))
	}
	fmt.Print("| responses | after, s | memory of all processes, bytes |\n| --- | --- | --- |\n")
	total := c.by[len(c.by)-1]
	for _, n := range marks(total) {
		at, _ := c.when(n)
		fmt.Printf("| %.0f | %.0f | %d |\n", n, (at - c.began).Seconds(), 1024*nearest(samples, at))
	}
	tenth, known := c.when(total / 10) // the first tenth fills caches and histograms
	half, alsoKnown := c.when(total / 2)
	if !known || !alsoKnown {
		return errors.New("no slices")
	}
	early, late := highest(samples, tenth, half), highest(samples, half, math.MaxInt64)
	grown := float64(late)/float64(early) - 1
	fmt.Printf("\nhighest after the first tenth: %d bytes in the first half, %d in the second: %+.2f %%\n", 1024*early, 1024*late, 100*grown)
	if grown > most {
		return fmt.Errorf("memory grows: by more than %g %%", 100*most)
	}
	return nil
}

// marks are powers of ten from a million on, and the end.
func marks(total float64) (list []float64) {
	for n := 1e6; n < total; n *= 10 {
		list = append(list, n)
	}
	return append(list, total)
}

// nearest is the sample that is nearest to a time.
func nearest(samples []sample, at time.Duration) int {
	return slices.MinFunc(samples, func(a, b sample) int { return int((a.at - at).Abs() - (b.at - at).Abs()) }).kib
}

func highest(list []sample, from, to time.Duration) (kib int) {
	for _, s := range list {
		if s.at >= from && s.at <= to {
			kib = max(kib, s.kib)
		}
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
