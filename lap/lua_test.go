package lap_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/lap"
)

// answer prints a histogram as asLua does.
const answer = `
package.path = "../lua/?.lua;../lua/?/init.lua;" .. package.path
local histogram = require "moonlap.histogram"
local function answer(h)
    local text = ("%s %.17g %.17g"):format(h:encode(), h:min(), h:max())
    if h:count() < 2 ^ 53 then
        text = text .. (" %.17g %.17g"):format(h:count(), h:percentile(50))
    end
    print(text)
end
`

// recordInLua reads lines of lowest, highest, digits and values.
const recordInLua = answer + `
for line in io.lines() do
    local words = line:gmatch "%S+"
    local h = histogram.new {
        lowest = tonumber(words()), highest = tonumber(words()), digits = tonumber(words()),
    }
    for word in words do
        h:record(tonumber(word))
    end
    answer(h)
end`

// decodeInLua reads encodings.
const decodeInLua = answer + `
for text in io.lines() do
    local h, err = histogram.decode(text)
    if h then
        answer(h)
    else
        assert(err:find "^histogram encoding: .", err)
        print "refused"
    end
    collectgarbage() -- of 8 MiB each, perhaps
end`

// throughLua feeds lines to a program in LuaJIT and returns its answers, one each.
func throughLua(t *testing.T, program string, lines []string) []string {
	t.Helper()
	luajit, err := exec.LookPath("luajit")
	if err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v; 'script/bootstrap test' installs it", err)
	}
	cmd := exec.CommandContext(t.Context(), luajit, "-e", program)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var answers []string
	scanner := bufio.NewScanner(bytes.NewReader(output))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		answers = append(answers, scanner.Text())
	}
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(answers), len(lines))
	}
	return answers
}

// asLua writes a histogram as answer does. Lua counts in doubles, so that counts beyond
// their integers may differ, and with them percentiles.
func asLua(h *lap.Histogram) string {
	number := func(v int64) string { return " " + strconv.FormatFloat(float64(v), 'g', 17, 64) }
	text := h.Encode() + number(int64(h.Min())) + number(int64(h.Max()))
	if h.Count() < 1<<53 {
		text += number(h.Count()) + number(int64(h.Percentile(50)))
	}
	return text
}

// go test ./lap -run Lua -args -seed N tries other values and corruptions.
var seed = flag.Uint64("seed", 1, "of values and corruptions that Go and Lua must agree on")

func random() *rand.Rand { return rand.New(rand.NewPCG(*seed, 0)) }

func TestLuaRecordsTheSame(t *testing.T) {
	r := random()
	var lines, want []string
	for range 200 {
		digits := r.IntN(5)
		lowest := int64(1) << r.IntN(20)
		highest := lowest * 2 << r.IntN(25)
		h, err := lap.NewHistogramRange(time.Duration(lowest), time.Duration(highest), digits)
		if err != nil {
			continue // too many counters: both refuse, as specs and tests show
		}
		line := fmt.Sprint(lowest, highest, digits)
		for range r.IntN(100) {
			v := int64(math.Exp(r.Float64() * 36)) // up to 50 days, whole
			if r.IntN(20) == 0 {
				v = -v
			}
			h.Record(time.Duration(v))
			line += fmt.Sprint(" ", v)
		}
		lines, want = append(lines, line), append(want, asLua(h))
	}
	for i, got := range throughLua(t, recordInLua, lines) {
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Fatalf("%s\n%s", lines[i], diff)
		}
	}
}

// Both libraries accept the same corrupted encodings, as the same histograms.
func TestLuaDecodesTheSame(t *testing.T) {
	r := random()
	var seeds []string
	for _, recorded := range recordings {
		seeds = append(seeds, recorded.histogram(t).Encode())
	}
	for _, other := range foreign(t) {
		seeds = append(seeds, other.Encoding)
	}
	seeds = slices.DeleteFunc(seeds, func(text string) bool { return len(text) > 2000 })
	var lines, want []string
	accepted := 0
	for range 2000 {
		text := seeds[r.IntN(len(seeds))]
		if r.IntN(4) > 0 { // behind the checksum, where most of the format is
			text = wrap(t, withLength(mutated(r, contents(t, text)), r.IntN(4) > 0))
		} else if raw, err := base64.StdEncoding.DecodeString(text); err != nil {
			t.Fatal(err)
		} else {
			text = base64.StdEncoding.EncodeToString(mutated(r, raw))
		}
		said := "refused"
		if h, err := lap.Decode(text); err == nil {
			said = asLua(h)
			accepted++
		}
		lines, want = append(lines, text), append(want, said)
	}
	if accepted < 100 || accepted > len(lines)-100 {
		t.Errorf("%d of %d accepted: the corruptions show little", accepted, len(lines))
	}
	for i, got := range throughLua(t, decodeInLua, lines) {
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Fatalf("%s\nGo (-), Lua (+):\n%s", lines[i], diff)
		}
	}
}

// mutated has a few bits flipped, bytes replaced, dropped or doubled.
func mutated(r *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + r.IntN(3) {
		if len(data) == 0 {
			break
		}
		at := r.IntN(len(data))
		switch r.IntN(5) {
		case 0:
			data[at] = byte(r.IntN(256))
		case 1:
			data = append(data[:at], data[at+1:]...)
		case 2:
			data = append(data[:at+1], data[at:]...)
		case 3:
			data = data[:at]
		default:
			data[at] ^= 1 << r.IntN(8)
		}
	}
	return data
}

// withLength puts the length of the counters into the header, when it is to be right: most
// corruptions would be found by it alone.
func withLength(data []byte, right bool) []byte {
	const at, header = 4, 40
	if right && len(data) >= header {
		binary.BigEndian.PutUint32(data[at:], uint32(len(data)-header))
	}
	return data
}
