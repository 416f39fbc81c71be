package load

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// shortOfRate is the share of the offered requests that may be missing.
const shortOfRate = 0.001

// missed reports whether a side in open loop did not get its requests out.
func missed(s record.LoadSide) bool {
	return float64(s.Offered-s.Requests) > max(1, shortOfRate*float64(s.Offered))
}

const engineAdvice = "this is a fault of moonlap's engine, or of its LuaJIT: 'moonlap doctor' checks the machine"

// problems are what went wrong, those that decide the exit status first.
func problems(rec *record.Record, res *record.LoadResults) []record.LoadProblem {
	var list []record.LoadProblem
	add := func(p record.LoadProblem) { list = append(list, p) }
	for _, f := range rec.Faults {
		code := record.LoadEngineFailed
		advice := engineAdvice
		if f.Stage == StageServer {
			code, advice = record.LoadServerDied, "its error log says why; what was measured until then stands"
		}
		add(record.LoadProblem{Code: code, Text: f.Text, Advice: advice, Decides: true})
	}
	list = append(list, scriptProblems(rec, res)...)
	for _, d := range rec.Load.Done {
		if d.Stop == record.LoadStopError {
			add(record.LoadProblem{Code: record.LoadEngineFailed, Text: cmp.Or(d.Text, "the load engine stopped for an error"), Decides: true})
		}
	}
	if rec.End == nil || rec.End.Reason == "interrupted" {
		add(record.LoadProblem{Code: record.LoadInterrupted, Text: "the run was interrupted; what was measured until then stands"})
	}
	for _, s := range res.Sides {
		list = append(list, ofSide(rec, res, s)...)
	}
	if !res.Load.Searching { // there a step that exceeds is how the search ends
		for _, l := range res.Limits {
			if l.Exceeded {
				add(record.LoadProblem{Code: record.LoadLimitExceeded, Side: l.Side, Decides: true,
					Text: fmt.Sprintf("%s: it is %s", l.Limit, limitValue(l))})
			}
		}
	} else if res.MaxRate == nil {
		add(record.LoadProblem{Code: record.LoadLimitExceeded, Decides: true, Text: "no rate that was tried keeps the limits",
			Advice: "begin lower, with -R, or see whether the server answers at all"})
	}
	if res.Load.SelfTest {
		for _, c := range res.Comparisons {
			if c.Verdict == record.Slower || c.Verdict == record.Faster {
				add(record.LoadProblem{Code: record.LoadFalseAlarm, Decides: true,
					Text:   fmt.Sprintf("equal sides differ by %s: one in twenty self-tests says so by chance", c.Metric),
					Advice: "repeat it; if it does so again, do not compare here"})
			}
		}
	}
	return list
}

func nameOf(res *record.LoadResults, side int) string {
	if side >= 0 && side < len(res.Sides) {
		return res.Sides[side].Name
	}
	return ""
}

// ofSide are the problems of one side.
func ofSide(rec *record.Record, res *record.LoadResults, s record.LoadSide) []record.LoadProblem {
	var list []record.LoadProblem
	add := func(p record.LoadProblem) {
		p.Side = s.Name
		list = append(list, p)
	}
	e := s.Errors
	said := saidOf(rec, slices.IndexFunc(res.Sides, func(o record.LoadSide) bool { return o.Name == s.Name }))
	errors := withErrors(e, said)
	if len(rec.Load.Scripts) > 0 { // it ended the run, and is named: what else would be said follows from that
		if e.Script = 0; e.Total() == 0 {
			return nil
		}
	}
	switch {
	case s.Responses == 0 && len(rec.Load.Slices) > 0 && len(rec.Load.Scripts) == 0:
		add(record.LoadProblem{Code: record.LoadNoAnswer, Text: "no request was answered" + errors,
			Advice: adviceOf(e), Decides: true})
	case s.Responses > 0 && e.Status == s.Responses:
		add(record.LoadProblem{Code: record.LoadNoAnswer, Text: "every answer has a status of 400 or above",
			Advice: "see with curl what the URL answers", Decides: true})
	case e.Total() > 0:
		add(record.LoadProblem{Code: record.LoadErrorsSeen, Text: strings.TrimPrefix(errors, ": "), Advice: adviceOf(e)})
	}
	if missed(s) && !res.Load.Searching {
		sent := float64(s.Requests) / s.ElapsedNS * 1e9
		add(record.LoadProblem{Code: record.LoadRateNotReached, Decides: true,
			Text:   fmt.Sprintf("the rate was not reached: %.0f requests a second of %.0f", sent, s.OfferedRate),
			Advice: "latencies count from when a request was due, so they include the delay; use more -c, or a lower -R"})
	}
	if c := s.Client; c.Saturated && !res.Load.Searching {
		add(record.LoadProblem{Code: record.LoadClientSaturated, Text: c.Verdict, Decides: timed(res.Load.Limits),
			Advice: "use more threads (-t) on more cores, fewer connections, or a rate (-R) below the maximum"})
	}
	if n := s.Responses; n > 0 && n < 1000 {
		add(record.LoadProblem{Code: record.LoadFewRequests, Text: fmt.Sprintf("%d answers are few for a p99", n),
			Advice: "run longer: -d"})
	}
	if q := s.Quiet; q != nil && q.Disturbed {
		add(record.LoadProblem{Code: record.LoadDisturbed,
			Text: fmt.Sprintf("the machine was slower than its best for %.0f %% of the time, by %.0f to %.0f %%",
				100*(1-q.Share), 100*q.SlowerLow, 100*q.SlowerHigh),
			Advice: "a neighbour does that, or the load itself where processors share a core: see 'moonlap doctor --noise 1m' without load"})
	}
	return list
}

// saidOf is the most frequent error of a side in words, by the kind of error.
func saidOf(rec *record.Record, side int) map[string]string {
	counts := map[string]map[string]int64{}
	for _, e := range rec.Load.Errors {
		if e.Side == side && e.Text != "" {
			if counts[e.Kind] == nil {
				counts[e.Kind] = map[string]int64{}
			}
			counts[e.Kind][e.Text] += max(1, e.Count)
		}
	}
	said := map[string]string{}
	for kind, texts := range counts {
		most := ""
		for _, text := range slices.Sorted(maps.Keys(texts)) {
			if most == "" || texts[text] > texts[most] {
				most = text
			}
		}
		said[kind] = most
	}
	return said
}

// withErrors names the errors that there were, by kind, with what said has of each.
func withErrors(e record.LoadErrors, said map[string]string) string {
	var parts []string
	for _, one := range []struct {
		kind, name string // kind as records have it
		count      int64
	}{
		{"refused", "connections refused", e.Refused}, {"connect", "connections failed", e.Connect}, {"reset", "connections reset", e.Reset},
		{"timeout", "timeouts", e.Timeout}, {"tls", "TLS errors", e.TLS}, {"protocol", "answers that are no HTTP", e.Protocol},
		{"read", "read errors", e.Read}, {"write", "write errors", e.Write}, {"check", "failed checks", e.Check},
		{"status", "answers with status 400 or above", e.Status}, {"script", "requests that the script failed to make", e.Script},
	} {
		if one.count == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s", one.count, one.name)
		if text := said[one.kind]; text != "" {
			part += " (" + text + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func adviceOf(e record.LoadErrors) string {
	switch {
	case e.Refused > 0:
		return "nothing listens there, or its backlog is full"
	case e.Timeout > 0:
		return "timeouts are in the latencies with the time they took; --timeout sets it"
	case e.TLS > 0:
		return "--insecure accepts any certificate"
	case e.Protocol > 0:
		return "see with curl -v what the server says"
	case e.Status > 0:
		return "answers with an error may be faster than others: see with curl what the URL answers"
	}
	return ""
}

func limitValue(l record.LoadLimit) string {
	parsed, err := ParseLimit(l.Limit)
	switch {
	case err != nil:
		return ""
	case parsed.metric == "errors" && strings.HasSuffix(l.Limit, "%"):
		return fmt.Sprintf("%.3g %%", 100*l.Value)
	case parsed.metric == "errors" || parsed.metric == "rate":
		return fmt.Sprintf("%.0f", math.Round(l.Value))
	}
	return ui.Time(l.Value)
}
