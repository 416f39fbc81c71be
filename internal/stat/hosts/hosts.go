// Package hosts judges a difference that several hosts measured. A host is a level above the process:
// what its CPU, kernel or neighbours do to the difference is the same in all of its processes.
package hosts

import (
	"fmt"
	"math"

	"github.com/aclements/go-moremath/mathx"
	"github.com/aclements/go-moremath/stats"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// enoughForNext is the fewest hosts that say where the next one lies.
const enoughForNext = 3

// Compare pools what hosts found of one A/B, by the random-effects model: the true ratio differs from host to
// host, and the hosts are a sample of those that matter. margin is the relative difference that does not matter.
//
//   - The variance between hosts is Paule & Mandel's (J. Res. NBS 87, 1982).
//   - The interval is Hartung & Knapp's (Stat. Med. 20, 2001) with Student's t and never narrower than the hosts'
//     own intervals allow (Röver, Knapp & Friede, BMC Med. Res. Methodol. 15, 2015), which two or three hosts need.
//   - Agreement is Cochran's Q test (Biometrics 10, 1954).
//   - Next is the prediction interval of Higgins, Thompson & Spiegelhalter (J. R. Stat. Soc. A 172, 2009), with
//     Student's t of k-1 degrees of freedom for k hosts.
//
// A host's error is taken from its interval as if that were a normal one at [estimate.Level]. It was made for several
// looks and comparisons, so it is wider, and all that follows errs on the careful side.
// Hosts without an interval are left out and named.
func Compare(found []record.OnHost, margin float64) record.HostComparison {
	c := record.HostComparison{Verdict: record.Undecided, Here: record.Undecided, Agreement: 1, Hosts: found}
	if len(found) == 0 {
		return c
	}
	c.A, c.B, c.Metric = found[0].A, found[0].B, found[0].Metric
	sample, left := measured(found)
	if len(left) > 0 {
		c.Warnings = append(c.Warnings, withoutInterval(left))
	}
	switch len(sample) {
	case 0:
		return c
	case 1:
		c.Ratio = sample[0].Ratio
		c.Here = sample[0].Verdict
		c.Warnings = append(c.Warnings, record.Warning{
			Code: "one_host", Text: "one host says nothing about others", Advice: "measure on at least three",
		})
		return c
	}
	pool(&c, sample)
	c.Verdict = judge(c.Ratio, margin)
	c.Here = here(sample, c.Agreement)
	if len(sample) < enoughForNext {
		c.Warnings = append(c.Warnings, record.Warning{
			Code: "few_hosts", Text: "two hosts say hardly anything about a third",
			Advice: "for a verdict beyond these hosts, measure on at least three",
		})
	}
	return c
}

// measured are the hosts that have an interval, and the names of those that have none.
func measured(found []record.OnHost) (sample []record.OnHost, left []string) {
	for _, h := range found {
		if h.Ratio.Low > 0 && h.Ratio.High > h.Ratio.Low && !math.IsInf(h.Ratio.High, 1) {
			sample = append(sample, h)
		} else {
			left = append(left, h.Host)
		}
	}
	return sample, left
}

func withoutInterval(names []string) record.Warning {
	text := names[0]
	if len(names) > 1 {
		text = fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
	return record.Warning{
		Code: "host_left_out", Text: "no interval of the ratio on " + text + ": not part of what is said over hosts",
		Advice: "see that host's own report: 'moonlap report FILE'",
	}
}

// pool fits the model to logarithms of ratios.
func pool(c *record.HostComparison, sample []record.OnHost) {
	n := len(sample)
	shift, variance := make([]float64, n), make([]float64, n)
	reach := stats.StdNormal.InvCDF((1 + estimate.Level) / 2)
	for i, h := range sample {
		e := math.Log(h.Ratio.High/h.Ratio.Low) / 2 / reach
		shift[i], variance[i] = math.Log(h.Ratio.Estimate), e*e
	}
	freedom := float64(n - 1)
	_, _, spread := weigh(shift, variance, 0)
	c.Agreement = mathx.GammaIncComp(freedom/2, spread/2)
	between := betweenHosts(shift, variance)
	mean, weight, spread := weigh(shift, variance, between)
	off := math.Sqrt(max(1, spread/freedom) / weight)
	t := stats.InvCDF(stats.TDist{V: freedom})((1 + estimate.Level) / 2)
	around := func(arm float64) record.Interval {
		return record.Interval{Estimate: math.Exp(mean), Low: math.Exp(mean - arm), High: math.Exp(mean + arm)}
	}
	c.Ratio, c.Between = around(t*off), math.Expm1(math.Sqrt(between))
	if n >= enoughForNext {
		next := around(t * math.Sqrt(between+off*off))
		c.Next = &next
	}
}

// weigh is the mean of shifts, weighted by 1/(variance+between), the sum of these weights, and how far the shifts
// lie apart: the weighted sum of squares, which is about their number less one where between is right.
func weigh(shift, variance []float64, between float64) (mean, weight, spread float64) {
	for i, v := range variance {
		w := 1 / (v + between)
		weight += w
		mean += w * shift[i]
	}
	mean /= weight
	for i, v := range variance {
		d := shift[i] - mean
		spread += d * d / (v + between)
	}
	return mean, weight, spread
}

// betweenHosts solves spread(between) = hosts - 1, which falls as between grows; 0 where the hosts agree.
func betweenHosts(shift, variance []float64) float64 {
	wanted := float64(len(shift) - 1)
	apart := func(between float64) bool {
		_, _, spread := weigh(shift, variance, between)
		return spread > wanted
	}
	if !apart(0) {
		return 0
	}
	low, high := 0.0, 1e-12
	for apart(high) {
		low, high = high, 2*high
	}
	for range 60 {
		if middle := (low + high) / 2; apart(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// judge is a statement about the interval, as that of a single host is.
func judge(ratio record.Interval, margin float64) string {
	switch {
	case ratio.Low > 1/(1+margin) && ratio.High < 1+margin:
		return record.NoDifference
	case ratio.Low > 1:
		return record.Slower
	case ratio.High < 1:
		return record.Faster
	}
	return record.Undecided
}

// here is what all hosts found. Each had to find it for itself, so no correction for their number is due. That some
// found B faster and some slower is believed where chance does not explain that they differ.
func here(sample []record.OnHost, agreement float64) string {
	count := map[string]int{}
	for _, h := range sample {
		count[h.Verdict]++
	}
	for verdict, n := range count {
		if n == len(sample) {
			return verdict
		}
	}
	if count[record.Faster] > 0 && count[record.Slower] > 0 && agreement < 1-estimate.Level {
		return record.Mixed
	}
	return record.Undecided
}

// A Found is what one host's record says.
type Found struct {
	Host    record.Host
	Results *record.Results
	Rule    *record.Comparing // of its comparisons
}

// Merge puts the results of hosts side by side, and judges each comparison over all of them.
func Merge(found []Found, margin float64) *record.HostsResult {
	merged := &record.HostsResult{
		Schema: record.Schema, Cases: []record.HostsCase{}, Comparisons: []record.HostComparison{}, Warnings: []record.Warning{}, Complete: true,
	}
	machines := map[string]string{}
	for i, f := range found {
		h := f.Host
		h.Environment, h.Complete, h.Warnings = f.Results.Environment, f.Results.Complete, f.Results.Warnings
		merged.Kind, merged.Complete = f.Results.Kind, merged.Complete && h.Complete
		merged.Hosts = append(merged.Hosts, h)
		if id := h.Environment.Machine; id != "" && machines[id] != "" {
			merged.Warnings = append(merged.Warnings, record.Warning{
				Code: "one_machine", Text: machines[id] + " and " + h.Name + " are the same machine",
				Advice: "to learn about others, measure on different ones",
			})
		} else if id != "" {
			machines[id] = h.Name
		}
		for _, c := range f.Results.Cases {
			at := rowOf(&merged.Cases, c.Name, len(found))
			if c.NSPerCall != nil {
				at.NSPerCall[i] = &c.NSPerCall.Interval
			}
		}
	}
	merged.Warnings = append(merged.Warnings, differ(found)...)
	for _, list := range byComparison(found) {
		merged.Comparisons = append(merged.Comparisons, Compare(list, margin))
	}
	return merged
}

func rowOf(rows *[]record.HostsCase, name string, hosts int) *record.HostsCase {
	for i := range *rows {
		if (*rows)[i].Name == name {
			return &(*rows)[i]
		}
	}
	*rows = append(*rows, record.HostsCase{Name: name, NSPerCall: make([]*record.Interval, hosts)})
	return &(*rows)[len(*rows)-1]
}

// byComparison gathers what the hosts found, by sides and metric, in the order in which these first appear.
func byComparison(found []Found) (lists [][]record.OnHost) {
	type key struct{ a, b, metric string }
	at := map[key]int{}
	for _, f := range found {
		for _, c := range f.Results.Comparisons {
			k := key{c.A, c.B, c.Metric}
			if _, known := at[k]; !known {
				at[k] = len(lists)
				lists = append(lists, nil)
			}
			lists[at[k]] = append(lists[at[k]], record.OnHost{Host: f.Host.Name, Comparison: c})
		}
	}
	return lists
}
