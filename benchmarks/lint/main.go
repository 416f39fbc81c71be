// Lint holds findings of moonlap lint against those that were judged by hand, its speed against luacheck's, and its reader of
// nginx.conf against nginx. It fetches nothing: it reads folders that are named.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	corpus := flag.String("corpus", "", "`folder` with a folder for each public project: findings against judged.tsv")
	speed := flag.String("speed", "", "`folder` of Lua: time against luacheck's")
	conf := flag.String("conf", "", "`folder` with lua-nginx-module: its tests' configurations against nginx -t")
	readme := flag.String("documented", "", "README of lua-nginx-module: the phases that it names for each API, for rules/api-phase")
	rounds := flag.Int("rounds", 7, "with -speed, `N` runs of each")
	moonlap := flag.String("moonlap", "moonlap", "`path` of moonlap")
	flag.Parse()
	var err error
	switch {
	case *corpus != "":
		err = judged(*moonlap, *corpus)
	case *speed != "":
		err = race(*moonlap, *speed, *rounds)
	case *conf != "":
		err = oracle(*moonlap, *conf)
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

// output runs moonlap and returns what it writes. Its exit statuses 3 and 4 are findings and files that it could not read.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && (exit.ExitCode() == 3 || exit.ExitCode() == 4) {
		err = nil
	}
	return out, err
}
