// Quiet asks which yardstick tells of which kind of case that the machine was disturbed, and how far the
// figures of many short runs lie apart by each rule:
//
//	make study    # a run of 12 cases every 6 minutes, 40 times
//
// Records go to -records, which is not kept in git: 200 to 300 kB each. The figures of each, 3 kB, go to -kept, so that runs of
// many days add up. -summary prints the tables of what is there.
package main

import (
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 40, "how many")
	every := flag.Duration("every", 6*time.Minute, "from the beginning of a run to that of the next")
	processes := flag.Int("processes", 6, "of each case in a run")
	moonlap := flag.String("moonlap", "../../../bin/moonlap", "program that measures")
	records := flag.String("records", "records", "folder of the records")
	kept := flag.String("kept", "kept.jsonl", "file of the figures of all runs")
	modes := flag.Int("modes", 0, "count how often levels of processes are found, in so many runs, and measure nothing else")
	levels := flag.String("levels", "levels", "folder of the records of these runs")
	again := flag.Bool("again", false, "judge the records in -levels again, and measure nothing")
	summary := flag.Bool("summary", false, "print the tables, and measure nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if *again {
		if err := judgeModes(*moonlap, *levels); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *modes > 0 {
		if err := countModes(ctx, *modes, *moonlap, *levels); err != nil {
			log.Fatal(err)
		}
		return
	}
	if !*summary {
		if err := os.MkdirAll(*records, 0o755); err != nil {
			log.Fatal(err)
		}
		measure(ctx, *runs, *every, *moonlap, *processes, *records)
	}
	if err := summarize(*moonlap, *records, *kept); err != nil {
		log.Fatal(err)
	}
}

// measure runs the cases again and again. A run that fails is reported, and the next one comes at its time.
func measure(ctx context.Context, runs int, every time.Duration, moonlap string, processes int, folder string) {
	for i := range runs {
		next := time.After(every)
		path := filepath.Join(folder, time.Now().UTC().Format("20060102-150405")+".jsonl")
		cmd := exec.CommandContext(ctx, moonlap, "bench", "--processes", strconv.Itoa(processes), "--time", "2s",
			"--out", path, "bench.lua")
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
		if out, err := cmd.CombinedOutput(); ctx.Err() != nil {
			os.Remove(path)
			return
		} else if err != nil {
			log.Printf("%s: %v\n%s", path, err, out)
		}
		if err := pack(path); err != nil {
			log.Print(err)
		}
		fmt.Fprintf(os.Stderr, "%d of %d\n", i+1, runs)
		if i+1 == runs {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// pack replaces a record by a packed one, which moonlap reads too.
func pack(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(path + ".gz")
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(out)
	if _, err := io.Copy(zip, in); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Remove(path)
}
