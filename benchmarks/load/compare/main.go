// Compare counts how often `moonlap load --ab` is right: equal sides should not be told to differ, and a known
// difference of the server's CPU time should be found. Beside it, two runs of wrk are compared as people do.
//
//	make -C ../.. build && go run ./compare -runs 20
//
// It takes luajit and nginx with Lua; wrk where it is there. Exit status: 0 ok, 1 error.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
)

const conf = `include /etc/nginx/modules-enabled/*.conf;
worker_processes 1;
error_log stderr error;
events { worker_connections 1024; }
http {
    access_log off;
    keepalive_requests 1000000000;
    init_by_lua_block {
        function spin(n) local x = 0 for i = 1, n do x = x + i %% 7 end return x end
    }
    server {
        listen 127.0.0.1:%s;
        location /a { content_by_lua_block { ngx.say(spin(%d)) } }
        location /b { content_by_lua_block { ngx.say(spin(%d)) } }
    }
}
`

// base is how many turns /a spins.
const base = 20000

func main() {
	runs := flag.Int("runs", 20, "runs of each kind")
	equal := flag.String("equal", "10s", "length of a comparison of equal sides")
	slower := flag.Float64("slower", 0.02, "CPU time that /b takes more")
	moonlap := flag.String("moonlap", "../../bin/moonlap", "program to test")
	flag.Parse()
	if err := run(*runs, *equal, *slower, *moonlap); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// A bench is a place for configurations.
type bench struct{ moonlap, folder, port string }

func run(runs int, equal string, slower float64, moonlap string) error {
	folder, err := os.MkdirTemp("", "moonlap-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	port, err := freePort()
	if err != nil {
		return err
	}
	b := bench{moonlap, folder, port}
	fmt.Printf("load average %.1f at the beginning\n", target.LoadAverage())
	if err := b.equalSides(runs, equal); err != nil {
		return err
	}
	if err := b.slowerSide(runs, slower); err != nil {
		return err
	}
	err = b.wrk(runs)
	fmt.Printf("load average %.1f at the end\n", target.LoadAverage())
	return err
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// load compares /a with another path.
func (b bench) load(turns int, args ...string) ([]record.Comparison, error) {
	file := filepath.Join(b.folder, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, conf, b.port, base, turns), 0o644); err != nil {
		return nil, err
	}
	args = append([]string{"load", "--start", file, "-c", "32", "--format", "json"}, args...)
	cmd := exec.Command(b.moonlap, append(args, "http://127.0.0.1:"+b.port+"/a")...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var res struct{ Comparisons []record.Comparison }
	if jsonErr := json.Unmarshal(out.Bytes(), &res); jsonErr != nil {
		return nil, fmt.Errorf("%w: %v\n%s", err, jsonErr, stderr.String())
	}
	return res.Comparisons, nil
}

// equalSides counts false alarms, and how far the ratios are from 1.
func (b bench) equalSides(runs int, length string) error {
	alarms := 0
	away := map[string][]float64{}
	for range runs {
		list, err := b.load(base, "--self-test", "-d", length, "--min-effect", "0.01%")
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(c record.Comparison) bool {
			return c.Verdict == record.Slower || c.Verdict == record.Faster
		}) {
			alarms++
		}
		for _, c := range list {
			if c.Ratio.Estimate > 0 {
				away[c.Metric] = append(away[c.Metric], math.Abs(math.Log(c.Ratio.Estimate)))
			}
		}
	}
	share := stat.Share(alarms, runs)
	fmt.Printf("equal sides, %s: %d of %d runs call a difference by any metric (%.1f to %.1f %%)\n", length, alarms, runs, 100*share.Low, 100*share.High)
	for _, metric := range []string{stat.MetricRate, stat.MetricCPU, "p50", "p99"} {
		if list := away[metric]; len(list) > 0 {
			fmt.Printf("  %-4s away from 1: median %.2f %%, nine of ten below %.2f %%, most %.2f %%\n", metric,
				100*stat.Quantile(list, 0.5), 100*stat.Quantile(list, 0.9), 100*slices.Max(list))
		}
	}
	return nil
}

// slowerSide makes /b take a known share more CPU time, and counts how often that is found within 30 s.
func (b bench) slowerSide(runs int, share float64) error {
	// A turn's price follows from a pair that differs by as many turns as /a has.
	list, err := b.load(2*base, "--ab", "http://127.0.0.1:"+b.port+"/b", "--metrics", "cpu", "-d", "20s", "--min-effect", "0.1%")
	if err != nil {
		return err
	}
	if len(list) != 1 || list[0].Ratio.Estimate <= 1 {
		return errors.New("twice as many turns are not slower")
	}
	turns := base + int(float64(base)*share/(list[0].Ratio.Estimate-1))
	found := 0
	var ratios []float64
	for range runs {
		list, err := b.load(turns, "--ab", "http://127.0.0.1:"+b.port+"/b", "--metrics", "cpu", "-d", "30s", "--min-effect", "0.5%")
		if err != nil {
			return err
		}
		if len(list) == 1 {
			ratios = append(ratios, list[0].Ratio.Estimate-1)
			if list[0].Verdict == record.Slower {
				found++
			}
		}
	}
	iv := stat.Share(found, runs)
	fmt.Printf("%.1f %% more CPU time: found in %d of %d runs of at most 30 s (%.0f to %.0f %%); measured %.2f %% (median)\n",
		100*share, found, runs, 100*iv.Low, 100*iv.High, 100*stat.Median(ratios))
	return nil
}

var perSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// wrk runs wrk twice against the same path, as people do to compare, and tells by how much they differ.
func (b bench) wrk(runs int) error {
	if _, err := exec.LookPath("wrk"); err != nil {
		fmt.Println("two runs of wrk: not measured, as there is no wrk")
		return nil
	}
	// The server runs for as long as a load of moonlap's that hardly does anything.
	file := filepath.Join(b.folder, "nginx.conf")
	cmd := exec.Command(b.moonlap, "load", "--start", file, "-c", "1", "-R", "1", "-d", "1h", "http://127.0.0.1:"+b.port+"/a")
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}()
	var away []float64
	for range runs {
		var rates [2]float64
		for i := range rates {
			out, err := target.Pinned("wrk", "-t1", "-c32", "-d5s", "http://127.0.0.1:"+b.port+"/a").Output()
			if m := perSecond.FindSubmatch(out); m != nil && err == nil {
				rates[i], _ = strconv.ParseFloat(string(m[1]), 64)
			}
		}
		if rates[0] > 0 && rates[1] > 0 {
			away = append(away, math.Abs(math.Log(rates[1]/rates[0])))
		}
	}
	if len(away) == 0 {
		return errors.New("wrk told no rate")
	}
	fmt.Printf("two runs of wrk of 5 s one after the other, the same path: req/s differ by %.2f %% (median), nine of ten by less than %.2f %%, at most %.2f %%\n",
		100*stat.Quantile(away, 0.5), 100*stat.Quantile(away, 0.9), 100*slices.Max(away))
	return nil
}
