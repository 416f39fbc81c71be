package docs

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "run the commands of the pages at full length and write what they print into the pages")

// attempts are how often a block may run until its output is as it should be: what a case's
// figure looks like when somebody else uses the machine is not for a page to foresee.
const attempts = 3

// pages are all that show commands.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "examples/README.md", "docs/tutorial.md"}
	howTo, err := filepath.Glob(filepath.Join(root, "docs/how-to/*.md"))
	if err != nil || len(howTo) == 0 {
		t.Fatalf("no how-to pages: %v", err)
	}
	for _, file := range howTo {
		names = append(names, "docs/how-to/"+filepath.Base(file))
	}
	return names
}

// TestConsole runs every command that the pages show, and holds what it prints, and the
// claims of claims_test.go, to the page.
func TestConsole(t *testing.T) {
	w := newWorld(t)
	for _, name := range pages(t) {
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			p := readPage(t, name)
			blocks := p.blocks(t)
			folder := w.folder(t)
			var said map[string]string
			var outputs [][][]string
			// A claim compares two runs, and the machine may have been busy during one.
			for attempt := 1; ; attempt++ {
				said, outputs = map[string]string{}, nil
				for _, b := range blocks {
					outputs = append(outputs, w.runBlock(t, p, b, folder, said))
				}
				failed := broken(t, said)
				if len(failed) == 0 {
					break
				}
				if attempt == attempts {
					t.Fatal(strings.Join(failed, "\n"))
				}
				t.Log("once more: ", strings.Join(failed, "\n"))
			}
			if *update && !t.Failed() {
				// From the end: a longer output moves what stands behind it.
				for i, b := range slices.Backward(blocks) {
					for k, c := range slices.Backward(b.commands) {
						p.lines = slices.Replace(p.lines, c.from, c.to, outputs[i][k]...)
					}
				}
				p.write(t)
			}
		})
	}
}

// runBlock runs the commands of a block and returns what the page should show of each.
func (w *world) runBlock(t *testing.T, p *page, b block, folder string, said map[string]string) [][]string {
	t.Helper()
	var problem string
	for attempt := range attempts {
		if attempt > 0 {
			t.Logf("once more: %s", problem)
		}
		var shown [][]string
		problem = ""
		whole := ""
		for _, c := range b.commands {
			output, err := w.run(t, folder, c.text, b.env)
			whole += output + "\n"
			if err != nil {
				problem = p.at(c) + err.Error() + "\n" + output
				break
			}
			var actual []string
			if output != "" {
				actual = strings.Split(output, "\n")
			}
			fitted, err := fit(p.lines[c.from:c.to], actual)
			if err != nil {
				problem = p.at(c) + err.Error() + "\nthe whole output:\n" + output
				break
			}
			shown = append(shown, fitted)
		}
		for _, want := range b.wants {
			if joined := strings.Join(strings.Fields(whole), " "); problem == "" && !strings.Contains(joined, want) {
				problem = p.at(b.commands[0]) + "nothing says \"" + want + "\" in\n" + whole
			}
		}
		if problem == "" {
			said[b.id] = whole
			return shown
		}
	}
	t.Fatal(problem)
	return nil
}

func (p *page) at(c command) string {
	return p.name + ", $ " + c.text + ": "
}

// run runs a command as a reader would, in bash, and returns what the terminal shows but
// for progress: stdout, then stderr. A command that fails shows all of both.
func (w *world) run(t *testing.T, folder, text string, env []string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PATH="+w.bin+":"+os.Getenv("PATH"), "LC_ALL=C.UTF-8", "NO_COLOR=1")
	if !*update {
		cmd.Env = append(cmd.Env, "MOONLAP_TIME=300ms", "MOONLAP_PROCESSES=2")
		cmd.Env = append(cmd.Env, env...)
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String() + stderr.String(), err
	}
	output := stdout.String()
	// The shell's own times go to stderr; so does moonlap's progress, which a terminal wipes.
	if strings.HasPrefix(text, "time ") {
		output += stderr.String()
	}
	return strings.TrimRight(output, "\n"), nil
}
