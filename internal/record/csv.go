package record

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// csvColumns are the columns of [WriteCSV] before those of the parameters. Times are
// ns, sizes bytes.
var csvColumns = []string{
	"name", "ns_per_call", "low", "high", "min", "p50", "p90", "p99", "max",
	"bytes_per_call", "processes", "failed", "steady", "modes",
	"root_traces", "side_traces", "aborts", "compiled", "warnings",
}

// WriteCSV writes one row a case under a header (RFC 4180). The parameters follow as
// columns "params.NAME"; a figure that does not exist is an empty field.
func WriteCSV(w io.Writer, r *Results) error {
	params := map[string]bool{}
	for _, c := range r.Cases {
		for name := range c.Params {
			params[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(params))

	header := slices.Clone(csvColumns)
	for _, name := range names {
		header = append(header, "params."+name)
	}
	rows := [][]string{header}
	for _, c := range r.Cases {
		row := csvRow(c)
		for _, name := range names {
			row = append(row, csvParam(c.Params[name]))
		}
		rows = append(rows, row)
	}
	return writeCSV(w, rows)
}

// writeCSV writes rows, of which the first are the headers.
func writeCSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func csvRow(c CaseResult) []string {
	row := []string{c.Name}
	if d := c.NSPerCall; d != nil {
		for _, x := range []float64{d.Estimate, d.Low, d.High, d.Min, d.P50, d.P90, d.P99, d.Max} {
			row = append(row, decimal(x))
		}
	} else {
		row = append(row, make([]string, 8)...)
	}
	bytes := ""
	if c.BytesPerCall != nil {
		bytes = decimal(*c.BytesPerCall)
	}
	aborts := 0
	for _, a := range c.JIT.Aborts {
		aborts += a.Count
	}
	var codes []string
	for _, w := range c.Warnings {
		codes = append(codes, w.Code)
	}
	return append(row, bytes, strconv.Itoa(c.Processes), strconv.Itoa(c.Failed), c.Steady,
		strconv.Itoa(len(c.Modes)), decimal(c.JIT.RootTraces), decimal(c.JIT.SideTraces),
		strconv.Itoa(aborts), c.JIT.Compiled, strings.Join(codes, " "))
}

func csvParam(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return decimal(v)
	}
	return fmt.Sprint(v)
}

// decimal never uses an exponent, which not every reader of CSV knows.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
