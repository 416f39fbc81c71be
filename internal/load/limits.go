package load

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// A Limit is a threshold: "p99>10ms", "rate<1000", "errors>0.1%", "cpu>20us".
type Limit struct {
	Text   string
	metric string
	below  bool // it is exceeded below the value, as of a rate
	value  float64
}

var limitForm = regexp.MustCompile(`^\s*([a-z]+[0-9.]*)\s*([<>])\s*(\S+)\s*$`)

// ParseLimit reads a threshold as users write one.
func ParseLimit(text string) (Limit, error) {
	m := limitForm.FindStringSubmatch(text)
	if m == nil {
		return Limit{}, fmt.Errorf("a threshold such as 'p99>10ms', 'rate<5000' or 'errors>0.1%%', not %q", text)
	}
	l := Limit{Text: m[1] + m[2] + m[3], metric: m[1], below: m[2] == "<"}
	number := m[3]
	switch {
	case l.metric == sequential.MetricRate:
		if !l.below {
			return l, fmt.Errorf("%s: a rate is too low, as in 'rate<5000'", text)
		}
	case l.below:
		return l, fmt.Errorf("%s: it is too high, as in '%s>…'", text, l.metric)
	}
	var err error
	switch {
	case l.metric == "errors" && number[len(number)-1] == '%':
		l.value, err = strconv.ParseFloat(number[:len(number)-1], 64)
		l.value /= 100
	case l.metric == sequential.MetricRate || l.metric == "errors":
		l.value, err = strconv.ParseFloat(number, 64)
	case l.metric == "max" || sequential.KnownMetric(l.metric):
		var d time.Duration
		d, err = time.ParseDuration(number)
		l.value = float64(d)
	default:
		return l, fmt.Errorf("%s: there are rate, errors, cpu, mean, max and quantiles such as p99 or p99.9", text)
	}
	if err != nil || l.value < 0 {
		return l, fmt.Errorf("%s: %q is no value of %s", text, number, l.metric)
	}
	return l, nil
}

// timed reports whether any limit is of what a client without CPU time measures wrongly: rates and latencies, not errors.
func timed(limits []string) bool {
	return slices.ContainsFunc(limits, func(text string) bool {
		l, err := ParseLimit(text)
		return err == nil && l.metric != "errors" && l.metric != sequential.MetricCPU
	})
}

// of is what a side has of the limit's metric; false where it has none.
func (l Limit) of(s record.LoadSide) (float64, bool) {
	switch l.metric {
	case sequential.MetricRate:
		return s.Rate.Estimate, true
	case "errors":
		if l.value < 1 && l.Text[len(l.Text)-1] == '%' {
			return float64(s.Errors.Total()) / max(1, float64(s.Responses+s.Errors.Unanswered())), true
		}
		return float64(s.Errors.Total()), true
	case sequential.MetricCPU:
		if s.Server == nil {
			return 0, false
		}
		return s.Server.CPUPerRequestNS.Estimate, true
	case sequential.MetricMean:
		return s.LatencyNS.Mean, s.LatencyNS.Count > 0
	case "max":
		return s.LatencyNS.Max, s.LatencyNS.Count > 0
	}
	q, _ := sequential.QuantileMetric(l.metric)
	h := merge(nil, s.Histogram)
	if h == nil {
		return 0, false
	}
	return float64(h.Percentile(100 * q)), true
}

// judgeLimits holds every side to every limit. What has no value keeps no limit.
func judgeLimits(res *record.LoadResults) {
	for _, text := range res.Load.Limits {
		l, err := ParseLimit(text)
		if err != nil {
			continue // it was refused before the run
		}
		for _, s := range res.Sides {
			value, known := l.of(s)
			exceeded := !known || value > l.value
			if l.below {
				exceeded = !known || value < l.value
			}
			res.Limits = append(res.Limits, record.LoadLimit{Limit: l.Text, Side: s.Name, Value: value, Exceeded: exceeded})
		}
	}
}

// keeps reports whether a side keeps all limits, and reached its rate.
func keeps(res *record.LoadResults, s record.LoadSide) bool {
	exceeded := slices.ContainsFunc(res.Limits, func(l record.LoadLimit) bool { return l.Side == s.Name && l.Exceeded })
	return !exceeded && s.Responses > 0 && !missed(s) && s.Errors.Unanswered() == 0
}

// highest is the highest rate of a search that kept the limits.
func highest(res *record.LoadResults) *float64 {
	var best *float64
	for i, s := range res.Sides {
		if rate := res.Cases[i].Case.Rate; keeps(res, s) && (best == nil || rate > *best) {
			best = &rate
		}
	}
	return best
}
