// Package runtimetest looks for what a test's processes leave behind.
package runtimetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Mark is the environment variable that marks a test's processes, with the test's
// folder as its value.
const Mark = "MOONLAP_TEST_MARK"

// patience is how long what is about to end may take to.
const patience = 5 * time.Second

// Left says what there is in the folder tmp, and which processes [Marked] finds; "" is
// nothing.
func Left(tmp, folder string) string {
	var left string
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left = ""
		if files, _ := filepath.Glob(filepath.Join(tmp, "*")); len(files) > 0 {
			left += fmt.Sprintf("folders left behind: %q\n", files)
		}
		if processes := Marked(folder); len(processes) > 0 {
			left += fmt.Sprintf("processes left behind: %q\n", processes)
		}
		if left == "" || time.Now().After(end) {
			return left
		}
	}
}

// Marked are the other processes with the mark folder in their environment, or at work
// in the folder: nginx writes its title over the environment that /proc shows.
func Marked(folder string) []string {
	var found []string
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		if filepath.Base(p) == fmt.Sprint(os.Getpid()) {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		if strings.Contains("\x00"+string(env), "\x00"+Mark+"="+folder+"\x00") || strings.HasPrefix(cwd+"/", folder+"/") {
			line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
			found = append(found, filepath.Base(p)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
