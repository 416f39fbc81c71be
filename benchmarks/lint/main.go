// Lint holds findings of moonlap lint against those that were judged by hand, its speed against luacheck's, and its reader of
// nginx.conf against nginx. It fetches nothing: it reads folders that are named.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	corpus := flag.String("corpus", "", "`folder` with a folder for each public project: findings against judged.tsv")
	speed := flag.String("speed", "", "`folder` of Lua: time against luacheck's")
	conf := flag.String("conf", "", "`folder` with lua-nginx-module: its tests' configurations against nginx -t")
	readme := flag.String("documented", "", "README of lua-nginx-module: the phases that it names for each API, for rules/api-phase")
	joins := flag.String("joined", "", "`folder` of projects: the gateways here run on them, and findings are joined with a profile")
	gain := flag.String("gains", "", "`folder` of projects: what lint predicts against what the fixes of the gateways gain")
	only := flag.String("gateways", "", "only these `NAMES`, with -joined and -gains")
	seconds := flag.String("time", "15s", "with -joined and -gains, how long each is under load")
	tables := flag.Bool("memory", false, "memory that generated tables take")
	random := flag.Int("random", 0, "`N` random configurations, given to nginx -t and to moonlap")
	seed := flag.Uint64("seed", 1, "of the random ones")
	rounds := flag.Int("rounds", 7, "with -speed, `N` runs of each")
	moonlap := flag.String("moonlap", "moonlap", "`path` of moonlap")
	flag.Parse()
	*moonlap = command(*moonlap)
	var err error
	switch {
	case *corpus != "":
		err = judged(*moonlap, *corpus)
	case *speed != "":
		err = race(*moonlap, *speed, *rounds)
	case *conf != "":
		err = oracle(*moonlap, *conf)
	case *joins != "":
		err = joined(*moonlap, absolute(*joins), *only, *seconds)
	case *gain != "":
		err = gains(*moonlap, absolute(*gain), *only, *seconds)
	case *tables:
		err = memory(*moonlap)
	case *random > 0:
		err = compareReaders(*moonlap, randomConfs(*random, *seed))
	case *readme != "":
		err = documented(*readme)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// absolute is a path that holds in another folder, too.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// command is the path of a program, which may be named as a shell would have it.
func command(name string) string {
	if !strings.Contains(name, "/") {
		return name
	}
	return absolute(name)
}

// output runs moonlap and returns what it writes. Its exit statuses 3 and 4 are findings and files that it could not read.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && (exit.ExitCode() == 3 || exit.ExitCode() == 4) {
		err = nil
	}
	return out, err
}
