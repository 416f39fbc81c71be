package lint

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/rules"
)

// A Price is what the pair of a rule took.
type Price struct {
	Rule       string          `json:"rule"`
	Bad        float64         `json:"bad_ns"`
	Good       float64         `json:"good_ns"`
	Difference record.Interval `json:"difference_ns"` // what bad takes longer
	Verdict    string          `json:"verdict"`       // of bad, against good
	Per        string          `json:"per,omitempty"` // "request": of the server's CPU time, under load; "" is a call
	// Runs are the estimates of each run: between runs a price moves more than within one.
	Runs     []float64 `json:"runs_ns,omitempty"`
	Measured time.Time `json:"measured"`
	VM       string    `json:"vm"`
	Machine  string    `json:"machine,omitempty"`
	CPU      string    `json:"cpu,omitempty"`
	Shipped  bool      `json:"shipped,omitempty"` // it comes with moonlap, and was not measured here
}

// Silences reports whether a price makes its rule silent: what is advised was not shown to be faster.
func (p *Price) Silences() bool { return p != nil && p.Verdict != record.Slower }

// Text is the price in words: "53 ns more a call (62 against 9; measured here 2 days ago)".
func (p *Price) Text(g ui.Glyphs, now time.Time) string {
	where := "measured here " + ago(now.Sub(p.Measured))
	if p.Shipped {
		where = "not measured here: of " + p.MeasuredOn()
	}
	amount, sides := p.amount(g)
	if sides != "" {
		where = sides + "; " + where
	}
	return fmt.Sprintf("%s (%s)", amount, where)
}

// Amount is the price without where it was measured: "53 ns more a call (62 against 9)".
func (p *Price) Amount(g ui.Glyphs) string {
	amount, sides := p.amount(g)
	if sides != "" {
		amount += " (" + sides + ")"
	}
	return amount
}

// MeasuredOn is where a price was measured: the VM and the processor.
func (p *Price) MeasuredOn() string { return p.VM + ", " + p.CPU }

func (p *Price) amount(g ui.Glyphs) (amount, sides string) {
	switch p.Verdict {
	case record.NoDifference:
		return "no difference on this VM", ""
	case record.Faster:
		return g.Time(-p.Difference.Estimate) + " less a " + cmp.Or(p.Per, "call") + " than what is advised", ""
	case record.Undecided:
		if d := p.Difference; d.Low > 0 || d.High < 0 {
			return fmt.Sprintf("its runs do not agree: %s to %s", g.Time(d.Low), g.Time(d.High)), ""
		}
		return fmt.Sprintf("no difference was shown: %s to %s", g.Time(p.Difference.Low), g.Time(p.Difference.High)), ""
	}
	return g.Time(p.Difference.Estimate) + " more a " + cmp.Or(p.Per, "call"),
		fmt.Sprintf("%s against %s", g.Time(p.Bad), g.Time(max(p.Good, 0)))
}

func ago(d time.Duration) string {
	switch days := int(d.Hours() / 24); {
	case days < 1:
		return "today"
	case days == 1:
		return "yesterday"
	default:
		return fmt.Sprintf("%d days ago", days)
	}
}

// Prices are those of a machine and VM, by rule.
type Prices map[string]*Price

// book is the file of prices.
type book struct {
	Schema string   `json:"schema"`
	Kind   string   `json:"kind"`
	Prices []*Price `json:"prices"`
}

const mostPrices = 1 << 20 // bytes of the file

// Shipped are the prices that come with moonlap.
func Shipped() Prices {
	text, err := fs.ReadFile(rules.Files, "prices.json")
	if err != nil {
		panic(err) // it is embedded
	}
	prices, err := parsePrices(text)
	if err != nil {
		panic(err)
	}
	for _, p := range prices {
		p.Shipped, p.Machine = true, ""
	}
	return prices
}

func parsePrices(text []byte) (Prices, error) {
	var b book
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, err
	}
	prices := Prices{}
	for _, p := range b.Prices {
		prices[p.Rule] = p
	}
	return prices, nil
}

// Text is the file of prices.
func (p Prices) Text() ([]byte, error) {
	b := book{Schema: record.Schema, Kind: "prices", Prices: []*Price{}}
	for _, one := range p {
		b.Prices = append(b.Prices, one)
	}
	slices.SortFunc(b.Prices, func(x, y *Price) int { return cmp.Compare(x.Rule, y.Rule) })
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

// pricesFile is where the prices of a machine and VM are kept.
func pricesFile(vm, machine string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for prices: %w", err)
	}
	sum := sha256.Sum256([]byte(vm + "\n" + machine))
	return filepath.Join(cache, "moonlap", fmt.Sprintf("prices-%x.json", sum[:8])), nil
}

// ReadPrices are the prices measured here with this VM, and the shipped ones of the other rules. A virtual machine that moved has
// another processor, and its prices are not from here. The error says that a file could not be read; the shipped prices stand then.
func ReadPrices(vm, machine, cpu string) (Prices, error) {
	prices := Shipped()
	file, err := pricesFile(vm, machine)
	if err != nil {
		return prices, nil // nothing can have been kept
	}
	text, err := files.Read(file, mostPrices)
	if errors.Is(err, fs.ErrNotExist) {
		return prices, nil
	}
	if err != nil {
		return prices, err
	}
	own, err := parsePrices(text)
	if err != nil {
		return prices, fmt.Errorf("%s: %w; remove it, or measure again with 'moonlap lint --measure'", file, err)
	}
	for name, p := range own {
		if p.VM == vm && p.Machine == machine && p.CPU == cpu {
			prices[name] = p
		}
	}
	return prices, nil
}

// KeepPrices keeps prices measured here beside those that were.
func KeepPrices(vm, machine string, measured Prices) (file string, err error) {
	if file, err = pricesFile(vm, machine); err != nil {
		return "", err
	}
	kept := Prices{}
	if text, err := files.Read(file, mostPrices); err == nil {
		if old, err := parsePrices(text); err == nil {
			kept = old
		}
	}
	maps.Copy(kept, measured)
	text, err := kept.Text()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return file, files.Write(file, text, 0o644)
}

// Silence reports whether a rule says nothing unless it is asked: its pair shows no difference. A myth speaks where a price says that
// it is none.
func (p Prices) Silence(rule string) bool {
	price := p[rule]
	return price.Silences() && !wrong[rule] || price == nil && strings.HasPrefix(rule, "myth-")
}

// Apply gives findings their prices, and takes out those of rules whose pairs show no difference, but for the rules that were
// asked for.
func (r *Report) Apply(prices Prices, asked func(rule string) bool) {
	r.Silent = map[string]int{}
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		silent := prices.Silence(f.Rule) && !asked(f.Rule)
		if silent {
			r.Silent[f.Rule]++
		}
		return silent
	})
	r.prices = prices
	for i := range r.Findings {
		r.Findings[i].priced(prices)
	}
}

func (f *Finding) priced(prices Prices) {
	if p := prices[f.Rule]; p != nil {
		f.Price, f.PriceNS = p, &p.Difference
	}
}

// wrong are the rules about code that does the wrong thing. No price makes them silent: the fault is none of speed.
var wrong = map[string]bool{"global-written": true, "ctx-lost": true, "ctx-stash": true, "dict-get-set": true, "ffi-cdef-again": true,
	"resolver-missing": true, "timer-unchecked": true}
