package docs

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// TestExamples runs every bench file among the examples, and wants a figure of every case.
func TestExamples(t *testing.T) {
	w := newWorld(t)
	count := 0
	walk(t, "examples", ".lua", func(name string) {
		if !strings.Contains(read(t, name), `require "moonlap"`) {
			return // a plain script of the tutorial
		}
		count++
		t.Run(strings.TrimSuffix(filepath.Base(name), ".lua"), func(t *testing.T) {
			var problem string
			for range attempts {
				output, err := w.run(t, root, "moonlap bench --format json --processes 2 "+name, []string{"MOONLAP_TIME=200ms"})
				if err != nil {
					problem = fmt.Sprintf("%v\n%s", err, output)
				} else if problem = figureless(output); problem == "" {
					return
				}
				t.Log("once more: ", problem)
			}
			t.Error(problem)
		})
	})
	if count < 8 {
		t.Errorf("only %d bench files found in examples", count)
	}
}

// figureless tells what is wrong with results in which a case has no figure.
func figureless(output string) string {
	var results record.Results
	if err := json.Unmarshal([]byte(output), &results); err != nil {
		return fmt.Sprintf("no results: %v in\n%s", err, output)
	}
	if len(results.Cases) == 0 {
		return "no case"
	}
	for _, c := range results.Cases {
		if len(c.Faults) > 0 {
			return fmt.Sprintf("%s: %s", c.Name, c.Faults[0].Text)
		}
		if c.NSPerCall == nil && c.Laps == nil {
			return fmt.Sprintf("%s has no figure: %v", c.Name, c.Warnings)
		}
	}
	return ""
}

// TestExamplesAreExplained wants a heading for each example.
func TestExamplesAreExplained(t *testing.T) {
	var files []string
	walk(t, "examples", ".lua", func(name string) {
		if filepath.Dir(name) == "examples" {
			files = append(files, filepath.Base(name))
		}
	})
	explained := found(read(t, "examples/README.md"), "(?m)^## `([a-z_]+\\.lua)`")
	same(t, files, explained)
}
