package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// memory is what lint takes for generated tables: the most of any of its processes, as the kernel counted it.
func memory(moonlap string) error {
	fmt.Println("| generated tables | said | most memory of a process |\n| --- | --- | ---: |")
	for _, of := range []struct {
		files, megabytes int
	}{{1, 1}, {1, 3}, {4, 3}, {1, 10}, {4, 10}} {
		folder, err := os.MkdirTemp("", "moonlap-memory-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		row := "    {id = 4711, name = \"somebody\", tags = {\"a\", \"b\"}},\n"
		text := "return {\n" + strings.Repeat(row, of.megabytes<<20/len(row)) + "}\n"
		for i := range of.files {
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("table%d.lua", i)), []byte(text), 0o644); err != nil {
				return err
			}
		}
		cmd := exec.Command(moonlap, "lint", folder)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = io.Discard, &said
		err = cmd.Run()
		if _, ok := err.(*exec.ExitError); err != nil && !ok {
			return err
		}
		what := "linted"
		if said.Len() > 0 {
			_, what, _ = strings.Cut(strings.SplitN(said.String(), "\n", 2)[0], ".lua")
			what = strings.TrimLeft(what, ":0123456789 ")
		}
		most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
		fmt.Printf("| %d of %d MB | exit %d: %s | %d MB |\n", of.files, of.megabytes, cmd.ProcessState.ExitCode(), what, most)
	}
	return nil
}
