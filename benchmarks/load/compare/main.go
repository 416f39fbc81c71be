// Compare counts how often `moonlap load --ab` is right: equal sides should not be told to differ, and a known
// difference of the server's CPU time should be found. Beside it, two runs of wrk are compared as people do.
//
//	make -C ../.. build && go run ./compare -for 20m -out results.jsonl
//
// Each run is a line of the file that -out names, so a long count can be made in pieces. The table counts all its lines.
//
// It takes luajit and nginx with Lua; wrk where it is there. Exit status: 0 ok, 1 error, 2 usage.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/internal/record"
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
	long := flag.Duration("for", 10*time.Minute, "how long; the run that is under way then is the last")
	out := flag.String("out", "", "append the results to this file, and count those that it has")
	turn := flag.String("turn", "equal,equal,equal,equal,equal,slower,wrk", "the questions, over and over; none: only the table")
	length := flag.String("equal", "10s", "length of a comparison of equal sides")
	slower := flag.Float64("slower", 0.02, "CPU time that /b takes more")
	moonlap := flag.String("moonlap", "../../bin/moonlap", "program to test")
	flag.Parse()
	if *out == "" {
		fmt.Fprintln(os.Stderr, "compare: -out FILE is needed")
		os.Exit(2)
	}
	if err := run(*long, *out, strings.Split(*turn, ","), *length, *slower, *moonlap); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(long time.Duration, out string, turn []string, length string, slower float64, moonlap string) error {
	if len(turn) == 1 && turn[0] == "none" {
		return printTable(out)
	}
	folder, err := os.MkdirTemp("", "moonlap-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	port, err := freePort()
	if err != nil {
		return err
	}
	b := &bench{moonlap: moonlap, folder: folder, port: port, length: length, slower: slower}
	questions := map[string]func() (result, error){"equal": b.equalSides, "slower": b.slowerSide, "wrk": b.wrk}
	if _, err := exec.LookPath("wrk"); err != nil {
		delete(questions, "wrk")
		fmt.Fprintln(os.Stderr, "compare: two runs of wrk are not compared, as there is no wrk")
	}
	for begin, i := time.Now(), 0; time.Since(begin) < long; i++ {
		ask, ok := questions[turn[i%len(turn)]]
		if !ok {
			continue
		}
		fmt.Fprintf(os.Stderr, "\r\033[K%s of %s: %s", time.Since(begin).Round(time.Second), long, turn[i%len(turn)])
		r := result{Question: turn[i%len(turn)], At: time.Now().UTC().Truncate(time.Second)}
		answer, err := ask()
		if err != nil {
			return err
		}
		r.Verdict, r.Away, r.Load = answer.Verdict, answer.Away, target.LoadAverage()
		if err := keep(out, r); err != nil {
			return err
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	return printTable(out)
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

// A bench is a place for configurations.
type bench struct {
	moonlap, folder, port, length string
	slower                        float64
	turns                         int // of /b where it takes more; 0: not known yet
}

// load compares /a with another path.
func (b *bench) load(turns int, args ...string) ([]record.Comparison, error) {
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
	if len(res.Comparisons) == 0 {
		return nil, fmt.Errorf("no comparison (%v)\n%s", err, stderr.String())
	}
	return res.Comparisons, nil
}

// equalSides compares a path with itself, and decides nothing early.
func (b *bench) equalSides() (result, error) {
	list, err := b.load(base, "--self-test", "-d", b.length, "--min-effect", "0.01%")
	return resultOf(list), err
}

// slowerSide makes /b take a known share more CPU time. A turn's price follows from a pair that differs by as many
// turns as /a has.
func (b *bench) slowerSide() (result, error) {
	other := "http://127.0.0.1:" + b.port + "/b"
	if b.turns == 0 {
		list, err := b.load(2*base, "--ab", other, "--metrics", "cpu", "-d", "20s", "--min-effect", "0.1%")
		if err != nil {
			return result{}, err
		}
		if list[0].Ratio.Estimate <= 1 {
			return result{}, errors.New("twice as many turns are not slower")
		}
		b.turns = base + int(float64(base)*b.slower/(list[0].Ratio.Estimate-1))
	}
	list, err := b.load(b.turns, "--ab", other, "--metrics", "cpu", "-d", "30s", "--min-effect", "0.5%")
	return resultOf(list), err
}

var perSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// wrk runs wrk twice against the same path, as people do to compare, and tells by how much they differ.
func (b *bench) wrk() (result, error) {
	// The server runs for as long as a load of moonlap's that hardly does anything.
	file := filepath.Join(b.folder, "nginx.conf")
	cmd := exec.Command(b.moonlap, "load", "--start", file, "-c", "1", "-R", "1", "-d", "1h", "http://127.0.0.1:"+b.port+"/a")
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	defer func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}()
	if err := b.answers(); err != nil {
		return result{}, err
	}
	var rates [2]float64
	for i := range rates {
		out, err := target.Pinned("wrk", "-t1", "-c32", "-d5s", "http://127.0.0.1:"+b.port+"/a").CombinedOutput()
		m := perSecond.FindSubmatch(out)
		if err != nil || m == nil {
			return result{}, fmt.Errorf("wrk told no rate: %v\n%s", err, out)
		}
		if rates[i], err = strconv.ParseFloat(string(m[1]), 64); err != nil {
			return result{}, err
		}
	}
	return result{Away: map[string]float64{"rate": rates[0]/rates[1] - 1}}, nil
}

// answers waits until the server listens.
func (b *bench) answers() error {
	for range 100 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+b.port); err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("nginx does not answer")
}
