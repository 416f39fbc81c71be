package record

import (
	"fmt"
	"io"
	"strconv"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/metrics"
)

// WriteLoadJSON writes results of load as one indented JSON object. Of the series the histograms are left out; the
// whole histogram of each side is there.
func WriteLoadJSON(w io.Writer, r *LoadResults) error {
	out := *r
	out.Results = withoutNulls(r.Results)
	out.Sides = make([]LoadSide, len(r.Sides))
	for i, s := range r.Sides {
		s.Series = make([]LoadPoint, len(s.Series))
		for j, p := range r.Sides[i].Series {
			p.Histogram = ""
			s.Series[j] = p
		}
		out.Sides[i] = s
	}
	if err := jsontext.Write(w, &out); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// WriteLoadSeries writes a line of JSON for each point of each side, in order of time.
func WriteLoadSeries(w io.Writer, r *LoadResults) error {
	enc := jsontext.NewEncoder(w)
	next := make([]int, len(r.Sides))
	for {
		first := -1
		for i, s := range r.Sides {
			if next[i] < len(s.Series) && (first < 0 || s.Series[next[i]].AtNS < r.Sides[first].Series[next[first]].AtNS) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		line := struct {
			Side string `json:"side"`
			LoadPoint
		}{r.Sides[first].Name, r.Sides[first].Series[next[first]]}
		next[first]++
		if err := enc.Encode(line); err != nil {
			return fmt.Errorf("write the series: %w", err)
		}
	}
}

// loadColumns are the columns of [WriteLoadCSV]. Times are ns.
var loadColumns = []string{
	"side", "url", "requests", "responses", "errors", "rate", "rate_low", "rate_high", "offered_rate",
	"mean", "p50", "p90", "p99", "p99_9", "max", "raw_p50", "raw_p90", "raw_p99", "raw_p99_9", "raw_max",
	"server_cpu_per_request", "client_cpu_per_request", "client_cpu_share", "loop_lag_p99", "xr_over_n", "client_saturated",
}

// WriteLoadCSV writes one row a side under a header (RFC 4180).
func WriteLoadCSV(w io.Writer, r *LoadResults) error {
	rows := [][]string{loadColumns}
	for _, s := range r.Sides {
		row := []string{s.Name, s.URL, strconv.FormatInt(s.Requests, 10), strconv.FormatInt(s.Responses, 10), strconv.FormatInt(s.Errors.Total(), 10)}
		l, raw, c := s.LatencyNS, s.RawNS, s.Client
		for _, x := range []float64{
			s.Rate.Estimate, s.Rate.Low, s.Rate.High, s.OfferedRate, l.Mean, l.P50, l.P90, l.P99, l.P999, l.Max,
			raw.P50, raw.P90, raw.P99, raw.P999, raw.Max,
		} {
			row = append(row, decimal(x))
		}
		server := ""
		if s.Server != nil {
			server = decimal(s.Server.CPUPerRequestNS.Estimate)
		}
		rows = append(rows, append(row, server, decimal(c.CPUPerRequestNS), decimal(c.CPUShare), decimal(c.LoopLagP99NS),
			decimal(c.XROverN), strconv.FormatBool(c.Saturated)))
	}
	return writeCSV(w, rows)
}

// WriteLoadPrometheus writes the figures in Prometheus's text format, for the node exporter's textfile collector.
func WriteLoadPrometheus(w io.Writer, r *LoadResults) error {
	var p metrics.Page
	type put = func(x float64, labels ...string)
	family := func(name, help string, of func(LoadSide, put)) {
		p.Family("load_"+name, "gauge", help)
		for _, s := range r.Sides {
			of(s, func(x float64, labels ...string) { p.Value(x, append([]string{"side", s.Name}, labels...)...) })
		}
	}
	one := func(of func(LoadSide) float64) func(LoadSide, put) {
		return func(s LoadSide, put put) { put(of(s)) }
	}
	family("responses", "Answers of the run.", one(func(s LoadSide) float64 { return float64(s.Responses) }))
	family("rate", "Answers a second.", one(func(s LoadSide) float64 { return s.Rate.Estimate }))
	family("offered_rate", "Requests a second that were due; 0 in closed loop.", one(func(s LoadSide) float64 { return s.OfferedRate }))
	family("errors", "Errors of the run, by kind.", func(s LoadSide, put put) {
		e := s.Errors
		for _, k := range []struct {
			name string
			n    int64
		}{
			{"connect", e.Connect}, {"refused", e.Refused}, {"reset", e.Reset}, {"timeout", e.Timeout}, {"tls", e.TLS},
			{"protocol", e.Protocol}, {"read", e.Read}, {"write", e.Write}, {"check", e.Check}, {"status", e.Status}, {"script", e.Script},
		} {
			put(float64(k.n), "kind", k.name)
		}
	})
	quantiles := func(of func(LoadSide) LoadLatency) func(LoadSide, put) {
		return func(s LoadSide, put put) {
			l := of(s)
			for _, q := range []struct {
				name string
				ns   float64
			}{{"0.5", l.P50}, {"0.9", l.P90}, {"0.99", l.P99}, {"0.999", l.P999}, {"1", l.Max}} {
				put(q.ns/1e9, "quantile", q.name)
			}
		}
	}
	family("latency_seconds", "Latency, corrected.", quantiles(func(s LoadSide) LoadLatency { return s.LatencyNS }))
	family("raw_latency_seconds", "Latency from the time of sending.", quantiles(func(s LoadSide) LoadLatency { return s.RawNS }))
	family("client_cpu_share", "CPU time of the client, of one processor for each thread.", one(func(s LoadSide) float64 { return s.Client.CPUShare }))
	family("client_saturated", "1: the client made the tail, or had no CPU time left.", one(func(s LoadSide) float64 {
		if s.Client.Saturated {
			return 1
		}
		return 0
	}))
	if _, err := p.WriteTo(w); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}
