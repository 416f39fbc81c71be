package report

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./internal/report -update writes it", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

var goldens = map[string]func() *record.Results{
	"ordinary": ordinary, "modes": withModes, "no_figure": noFigures, "faults": everyFault, "laps": withLaps,
	"workers": withWorkers, "comparisons": withComparisons, "one_process": oneProcess, "many": manyCases,
}

func draw(t *testing.T, res *record.Results, opt ui.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Terminal(&b, res, opt); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTerminal(t *testing.T) {
	for name, res := range goldens {
		golden(t, name+".80.txt", draw(t, res(), ui.Options{}))
	}
	golden(t, "ordinary.120.txt", draw(t, ordinary(), ui.Options{Width: 120}))
	golden(t, "laps.60.txt", draw(t, withLaps(), ui.Options{Width: 60}))
	golden(t, "modes.ascii.txt", draw(t, withModes(), ui.Options{ASCII: true}))
	golden(t, "comparisons.color.txt", draw(t, withComparisons(), ui.Options{Color: true}))
}

func TestMarkdown(t *testing.T) {
	for name, res := range goldens {
		var b bytes.Buffer
		if err := Terminal(&b, res(), ui.Options{Markdown: true}); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".md", b.Bytes())
	}
}

func TestNoLineIsTooWide(t *testing.T) {
	for name, res := range goldens {
		for _, width := range []int{60, 80, 97, 120, 200} {
			for _, ascii := range []bool{false, true} {
				for line := range strings.Lines(string(draw(t, res(), ui.Options{Width: width, ASCII: ascii, Color: true}))) {
					line = strings.TrimSuffix(line, "\n")
					if w := lipgloss.Width(line); w > width {
						t.Errorf("%s at %d: %d columns: %q", name, width, w, line)
					}
				}
			}
		}
	}
}

var sequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Colours add nothing but colours, and without them nothing is escaped.
func TestColoursAreOnlyColours(t *testing.T) {
	for name, res := range goldens {
		plain := draw(t, res(), ui.Options{})
		if bytes.Contains(plain, []byte("\x1b")) {
			t.Errorf("%s: an escape sequence without colours", name)
		}
		colored := draw(t, res(), ui.Options{Color: true})
		if !sequence.Match(colored) {
			t.Errorf("%s: no colours", name)
		}
		if d := cmp.Diff(string(plain), string(sequence.ReplaceAll(colored, nil))); d != "" {
			t.Errorf("%s (-plain +coloured):\n%s", name, d)
		}
	}
}

func TestASCIIIsASCII(t *testing.T) {
	plain := ui.Options{ASCII: true, Width: 100}
	texts := map[string][]byte{}
	for name, res := range goldens {
		texts[name] = draw(t, res(), plain)
	}
	p := newPage(plain) // what other rooms put into words
	p.Para("  ", "the interval is wide: ± 9 %", p.Faint)
	p.Table([]string{"holder"}, [][]string{{"_G → cache → [1] · 3 × 5 µs…"}})
	texts["words"] = []byte(p.String())
	for name, text := range texts {
		for _, r := range string(text) {
			if r > 127 {
				t.Errorf("%s: %q", name, r)
			}
		}
	}
}

// A case without a figure must not be given one anywhere.
func TestNoFigureIsNoNumber(t *testing.T) {
	res := noFigures()
	res.Cases = res.Cases[:1]
	out := string(draw(t, res, ui.Options{}))
	if !strings.Contains(out, "never steady") || !strings.Contains(out, "from 20.0 ns to 41.7 ns") {
		t.Errorf("the missing figure is not explained:\n%s", out)
	}
	if strings.Contains(out, " ns ± ") || strings.Contains(out, "p50 ") && strings.Contains(out, "p50 2") {
		t.Errorf("there is a figure:\n%s", out)
	}
}

func TestEmptyResults(t *testing.T) {
	if out := draw(t, &record.Results{}, ui.Options{}); len(out) == 0 {
		t.Error("nothing was drawn")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrorsAreReturned(t *testing.T) {
	for _, err := range []error{Terminal(fullDisk{}, ordinary(), ui.Options{}), Terminal(fullDisk{}, ordinary(), ui.Options{Markdown: true})} {
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("error %v", err)
		}
	}
}

// TestFirstScreenHoldsTheAnswer: what a terminal of 24 lines shows of a run, as of script/demo, has the verdict and each case's line,
// whatever notes and details follow.
func TestFirstScreenHoldsTheAnswer(t *testing.T) {
	const lines = 24
	res := ordinary()
	res.Comparisons = withComparisons().Comparisons[:1]
	for range 9 { // a busy machine has more to say
		res.Warnings = append(res.Warnings, record.Warning{Code: "load", Text: strings.Repeat("busy ", 30) + strconv.Itoa(len(res.Warnings)), Advice: "Wait."})
	}
	out := string(draw(t, res, ui.Options{Width: 80}))
	screen := strings.Join(strings.Split(out, "\n")[:lines], "\n")
	wants := []string{"1.031× slower (1.024–1.038)", "time per call"}
	for _, c := range res.Cases {
		wants = append(wants, "\n  "+c.Name[:min(len(c.Name), 8)])
	}
	for _, want := range wants {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not on the first screen:\n%s", want, screen)
		}
	}
	if head := strings.Index(out, "\n  with "); head < len(screen) {
		t.Errorf("what was measured with is on the first screen, and the answer was first:\n%s", screen)
	}
}

// TestShort: a case about which nothing stands out takes less than a screen of 24 lines, with all that was measured with.
func TestShort(t *testing.T) {
	res := oneProcess()
	if lines := strings.Count(string(draw(t, res, ui.Options{Width: 80})), "\n"); lines > 20 {
		t.Errorf("%d lines:\n%s", lines, draw(t, res, ui.Options{Width: 80}))
	}
}
