package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

const level = 0.95

// A row is what came of one work. Ratios pair the processes of one round.
type row struct {
	Work   string                     `json:"work"`
	Unit   string                     `json:"unit"`
	Ns     map[string]record.Interval `json:"ns"`                // CPU ns an operation, by side
	Ratios map[string]record.Interval `json:"ratios,omitempty"`  // by "side/side"
	Aim    string                     `json:"aim,omitempty"`     // of moonlap.uv
	Says   string                     `json:"reached,omitempty"` // "yes", "no", "open" or "not run"
	Errors map[string]string          `json:"errors,omitempty"`  // by side
}

type table struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Load []float64 `json:"load"` // lowest, median, highest
	Rows []row     `json:"rows"`
}

func summarize(list []work, all []outcome) table {
	var t table
	var loads []float64
	for i, o := range all {
		if i == 0 {
			t.From, t.To = o.At, o.At
		}
		if o.At.After(t.To) {
			t.To = o.At
		}
		loads = append(loads, o.Load)
	}
	t.Load = []float64{}
	if len(loads) > 0 {
		t.Load = append(t.Load, slices.Min(loads), estimate.Median(loads), slices.Max(loads))
	}
	for _, w := range list {
		t.Rows = append(t.Rows, summarizeWork(w, all))
	}
	return t
}

func summarizeWork(w work, all []outcome) row {
	r := row{Work: w.Name, Unit: w.Unit, Ns: map[string]record.Interval{}, Ratios: map[string]record.Interval{},
		Errors: map[string]string{}}
	ns := map[string]map[int]float64{} // by side and round
	for _, o := range all {
		switch {
		case o.Work != w.Name:
		case o.Error != "":
			r.Errors[o.Side] = o.Error
		default:
			if ns[o.Side] == nil {
				ns[o.Side] = map[int]float64{}
			}
			ns[o.Side][o.Round] = o.Seconds * 1e9 / o.Operations
		}
	}
	for side := range r.Errors {
		delete(ns, side) // half a side is no side
	}
	for side, of := range ns {
		var values []float64
		for _, v := range of {
			values = append(values, v)
		}
		r.Ns[side], _ = estimate.MedianInterval(values, level)
	}
	for _, pair := range [][2]string{{"luv", "C"}, {"moonlap.uv", "C"}, {"moonlap.uv", "luv"}} {
		if ratios := paired(ns[pair[0]], ns[pair[1]]); len(ratios) > 0 {
			r.Ratios[pair[0]+"/"+pair[1]], _ = estimate.MedianInterval(ratios, level)
		}
	}
	if w.Aim.AtMost > 0 {
		r.Aim, r.Says = w.Aim.String(), reached(w.Aim, r)
	}
	return r
}

func paired(a, b map[int]float64) (ratios []float64) {
	for round, v := range a {
		if of, both := b[round]; both {
			ratios = append(ratios, v/of)
		}
	}
	return ratios
}

// reached judges by the whole interval: an aim within it is open.
func reached(a aim, r row) string {
	of, is := r.Ns["moonlap.uv"]
	if a.Against != "" {
		of, is = r.Ratios["moonlap.uv/"+a.Against]
	}
	switch {
	case !is:
		return "not run"
	case of.High <= a.AtMost:
		return "yes"
	case of.Low > a.AtMost:
		return "no"
	}
	return "open"
}

func (t table) measured() (n int) {
	for _, r := range t.Rows {
		n += len(r.Ns)
	}
	return n
}

func (t table) failed() (n int) {
	for _, r := range t.Rows {
		n += len(r.Errors)
	}
	return n
}

func (t table) printJSON(to io.Writer) error {
	enc := json.NewEncoder(to)
	enc.SetIndent("", "  ")
	return enc.Encode(t)
}

func (t table) print(to io.Writer) error {
	text := ""
	if len(t.Load) > 0 {
		text += fmt.Sprintf("%s to %s, load %.1f to %.1f (median %.1f)\n\n", t.From.Format("2006-01-02 15:04"),
			t.To.Format("15:04 MST"), t.Load[0], t.Load[2], t.Load[1])
	}
	text += "| work | C, ns | luv, ns | moonlap.uv, ns | luv / C | moonlap.uv / C | moonlap.uv / luv | aim | reached |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
	for _, r := range t.Rows {
		text += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Work, cost(r.Ns, "C"), cost(r.Ns, "luv"),
			cost(r.Ns, "moonlap.uv"), ratio(r, "luv/C"), ratio(r, "moonlap.uv/C"), ratio(r, "moonlap.uv/luv"), r.Aim, r.Says)
	}
	text += t.missing()
	_, err := io.WriteString(to, text)
	return err
}

// missing tells what could not run and why, works of one reason together.
func (t table) missing() (text string) {
	works := map[string][]string{}
	var whys []string
	for _, r := range t.Rows {
		for _, side := range sideNames {
			why, is := r.Errors[side]
			if !is {
				continue
			}
			why = side + ": " + why
			if works[why] == nil {
				whys = append(whys, why)
			}
			works[why] = append(works[why], r.Work)
		}
	}
	for _, why := range whys {
		text += fmt.Sprintf("\nNot run: %s: %s\n", why, strings.Join(works[why], "; "))
	}
	return text
}

func cost(ns map[string]record.Interval, side string) string {
	iv, is := ns[side]
	if !is {
		return "–"
	}
	if iv.Estimate >= 100 {
		return fmt.Sprintf("%.0f", iv.Estimate)
	}
	return short(iv.Estimate)
}

func ratio(r row, pair string) string {
	iv, is := r.Ratios[pair]
	if !is {
		return "–"
	}
	return fmt.Sprintf("%s [%s, %s]", short(iv.Estimate), short(iv.Low), short(iv.High))
}

// short writes three significant digits, but not fewer than two decimals above 1.
func short(x float64) string {
	if x >= 1 && x < 1000 {
		return fmt.Sprintf("%.*f", int(max(0, 2-math.Floor(math.Log10(x)))), x)
	}
	return fmt.Sprintf("%.3g", x)
}
