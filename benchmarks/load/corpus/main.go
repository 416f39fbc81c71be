// Corpus runs public scripts for wrk with Debian's wrk and with moonlap, against a server that keeps what it is sent. It
// compares the requests byte for byte, what the script printed by its shape, and the exit status.
//
//	make -C ../.. build && go run ./corpus FOLDER
//
// The scripts are no part of Moonlap: FOLDER has clones of their repositories, as FOLDER/owner/name.
//
// Exit status: 0 alike, 1 an error or a difference, 2 usage; go run says it in words and ends with 1 itself.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	only := flag.String("only", "", "regular expression: the scripts to run, by repository and path")
	verbose := flag.Bool("v", false, "show what both clients printed")
	flag.Parse()
	re, err := regexp.Compile(*only)
	if err == nil && flag.NArg() != 1 {
		err = errors.New("one argument: the folder with the clones")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(2)
	}
	if err := run(re, flag.Arg(0), *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(only *regexp.Regexp, folder string, verbose bool) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	moonlap, err := filepath.Abs("../../bin/moonlap")
	if err != nil {
		return err
	}
	server, err := newRecorder()
	if err != nil {
		return err
	}
	defer server.listener.Close()
	fmt.Println("| script | requests compared | requests | printed | exit |\n| --- | --- | --- | --- | --- |")
	differ, absent := 0, 0
	for _, s := range list() {
		name := s.Repo + " " + s.Path
		path := filepath.Join(folder, s.Repo, s.Path)
		if !only.MatchString(name) {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			absent++
			fmt.Printf("| %s | - | absent: git clone https://github.com/%s | - | - |\n", name, s.Repo)
			continue
		}
		theirs, err := s.run(server, path, "wrk")
		if err != nil {
			return err
		}
		ours, err := s.run(server, path, moonlap, "load")
		if err != nil {
			return err
		}
		compared, requests := compare(theirs.requests, ours.requests, s.AnyOrder)
		printed, exit := comparePrinted(theirs.printed, ours.printed), "alike"
		if theirs.exit != ours.exit {
			exit = fmt.Sprintf("%d, %d", theirs.exit, ours.exit)
		}
		fmt.Printf("| %s | %d | %s | %s | %s |\n", name, compared, requests, printed, exit)
		if requests == "differ" || printed == "differs" || exit != "alike" {
			differ++
		}
		if verbose {
			fmt.Printf("--- wrk\n%s\n--- moonlap\n%s\n", theirs.printed, ours.printed)
		}
	}
	fmt.Printf("\n%d differ, %d absent\n", differ, absent)
	if differ+absent > 0 {
		return fmt.Errorf("%d scripts differ, %d are absent", differ, absent)
	}
	return nil
}

// An outcome is what a client did with a script.
type outcome struct {
	requests [][]string
	printed  string
	exit     int
}

// run gives the script to a client for a second, in a working directory of its own, and returns what came of it.
func (s script) run(server *recorder, path string, client ...string) (outcome, error) {
	var o outcome
	dir, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(dir)
	_, port, _ := strings.Cut(server.listener.Addr().String(), ":")
	fill := strings.NewReplacer("URL", server.url(), "PORT", port).Replace
	for name, text := range s.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fill(text)), 0o666); err != nil {
			return o, err
		}
	}
	if s.Still {
		text := fmt.Sprintf(still, path)
		path = filepath.Join(dir, "still.lua")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return o, err
		}
	}
	n := strconv.Itoa(max(s.Threads, 1))
	args := append(client[1:], "-t", n, "-c", n, "-d", "1s", "-s", path, server.url()+cmp.Or(s.Target, "/"), "--")
	for _, arg := range s.Args {
		args = append(args, fill(arg))
	}
	cmd := exec.Command(client[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LUA_PATH="+filepath.Dir(path)+"/?.lua;;")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	server.take()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return o, err
	}
	o.requests, o.printed, o.exit = server.take(), out.String(), cmd.ProcessState.ExitCode()
	return o, nil
}

// still runs a script with a clock that stands still and a random generator that begins alike.
const still = `
local seed = math.randomseed
math.randomseed = function() seed(1) end
seed(1)
os.time = function() return 1700000000 end
local date = os.date
os.date = function(form) return date(form, os.time()) end
os.clock = function() return 1 end
local there, socket = pcall(require, "socket")
if there then
    socket.gettime = os.time
    _G.socket = socket -- as older ones do
end
dofile(%q)
`

// compare returns how many requests both sent, and whether these are the same ones in the same order.
func compare(theirs, ours [][]string, anyOrder bool) (n int, verdict string) {
	if len(theirs)+len(ours) == 0 {
		return 0, "none"
	}
	if len(theirs) != len(ours) {
		fmt.Fprintf(os.Stderr, "corpus: %d connections of wrk had requests, %d of moonlap\n", len(theirs), len(ours))
		return 0, "differ"
	}
	for i := range theirs {
		for k := range min(len(theirs[i]), len(ours[i])) {
			a, b := theirs[i][k], ours[i][k]
			if a != b && !(anyOrder && sorted(a) == sorted(b)) {
				fmt.Fprintf(os.Stderr, "corpus: request %d of wrk and of moonlap:\n%q\n%q\n", k, a, b)
				return n, "differ"
			}
			n++
		}
	}
	return n, "alike"
}

func sorted(text string) string {
	b := []byte(text)
	slices.Sort(b)
	return string(b)
}

// comparePrinted returns how the lines of a script compare. Where it throws, both have to say so with the same words.
func comparePrinted(theirs, ours string) string {
	if m := panicked.FindStringSubmatch(theirs); m != nil {
		if strings.Contains(strings.Join(strings.Fields(ours), " "), strings.Join(strings.Fields(m[1]), " ")) {
			return "the same error"
		}
		if strings.Contains(ours, "the script failed") {
			return "another error"
		}
		return "differs"
	}
	if shape(theirs) != shape(ours) {
		return "differs"
	}
	return "alike"
}

var (
	number   = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?|\b-?nan\b|\binf\b`)
	panicked = regexp.MustCompile(`PANIC: unprotected error in call to Lua API \((.*)\)`)
	report   = regexp.MustCompile(`(?s)Running .*?\n  \d+ threads and \d+ connections\n|  Thread Stats .*?Transfer/sec: *\S+\n`)
)

// shape returns the lines of a script without its figures, and without the reports of wrk and moonlap.
func shape(text string) string {
	text = report.ReplaceAllString(text, "")
	if at := strings.Index(text, "moonlap load"); at >= 0 {
		text = text[:at]
	}
	return strings.TrimSpace(number.ReplaceAllString(text, "N"))
}
