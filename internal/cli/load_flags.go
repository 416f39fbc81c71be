package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/doctor"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// secondsFlag is a duration; a number alone is seconds, as wrk has it.
type secondsFlag time.Duration

func (s *secondsFlag) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e9 {
		*s = secondsFlag(n * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("a duration such as 30s or 2m, or seconds, not %q", text)
	}
	*s = secondsFlag(d)
	return nil
}

func (s *secondsFlag) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *secondsFlag) Type() string { return "DURATION" }

// cpusFlag is a list of CPUs: 1,3 or 2-5.
type cpusFlag []int

func (c *cpusFlag) Set(text string) (err error) {
	*c, err = doctor.ParseCPUs(text)
	return err
}

func (c *cpusFlag) String() string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint([]int(*c))), ","), "[]")
}

func (c *cpusFlag) Type() string { return "CPUS" }

// formatSeries is a line of JSON for each point of time.
const formatSeries = "ndjson"

var loadFormats = []string{"text", "json", formatSeries, "csv", "markdown"}

// complete checks the flags against each other and fills in what follows from them.
func (o *loadOptions) complete(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, o.scriptArgs = args[:dash], args[dash:]
	}
	if len(o.abConf) > 0 { // --ab-conf A.conf B.conf URL
		args = slices.DeleteFunc(slices.Clone(args), func(a string) bool {
			isConf := !strings.Contains(a, "://")
			if isConf {
				o.abConf = append(o.abConf, a)
			}
			return isConf
		})
	}
	flags := cmd.Flags()
	compared := len(o.ab)+len(o.abHeader)+len(o.abConf) > 0 || o.selfTest
	if err := o.check(flags, args); err != nil {
		return err
	}
	o.counted.choose(flags)
	if err := o.counted.Check(false, false); err != nil {
		return usageError(err)
	}
	o.url = args[0]
	if o.page != "" && filepath.Ext(o.page) != ".html" {
		return usageErrorf("--page %s: a page ends in .html", o.page)
	}
	if err := o.readable(); err != nil {
		return err
	}
	o.completeDefaults(flags, compared)
	if err := o.completeLimits(); err != nil {
		return err
	}
	return o.completeRule(compared, flags.Changed("metrics"))
}

// check refuses what the table of flags cannot know.
func (o *loadOptions) check(flags *pflag.FlagSet, args []string) error {
	switch {
	case len(args) == 0:
		return usageErrorf("which URL?")
	case len(args) > 1:
		return usageErrorf("one URL, not %d; compare with --ab URL, and give a script its arguments behind --", len(args))
	case o.threads > o.connections && flags.Changed("threads"):
		return usageErrorf("-t %d threads need at least as many connections, and -c is %d", o.threads, o.connections)
	case len(o.abConf) == 1:
		return usageErrorf("--ab-conf compares two configurations: --ab-conf A.conf B.conf")
	}
	return nil
}

// readable tells early of a file that cannot be read.
func (o *loadOptions) readable() error {
	for _, file := range append(slices.Concat(o.headerFiles, o.abConf), o.script, o.bodyFile, o.ca, o.cert, o.key, o.start) {
		if file == "" {
			continue
		}
		if err := readable(file); err != nil {
			return err
		}
	}
	return nil
}

// completeDefaults fills in what was not given, and is not the same for every run.
func (o *loadOptions) completeDefaults(flags *pflag.FlagSet, compared bool) {
	o.threads = min(o.threads, o.connections)
	if !flags.Changed("seed") {
		o.seed = randomSeed()
	}
	if compared && !flags.Changed("warmup") {
		o.warmup = secondsFlag(time.Second)
	}
	// What is counted of a side is fetched some milliseconds after its slice, so that must not be short.
	if (!compared || len(o.counted.evidence.wanted()) > 0) && !flags.Changed("slice") {
		o.slice = secondsFlag(100 * time.Millisecond)
	}
	if compared && !flags.Changed("duration") {
		o.duration = secondsFlag(30 * time.Second)
	}
}

// completeLimits reads --fail-if and --slo.
func (o *loadOptions) completeLimits() error {
	texts := slices.Clone(o.failIf)
	for _, s := range o.slo {
		metric, value, ok := strings.Cut(s, "=")
		if !ok {
			return usageErrorf("--slo %s: as in p99=10ms", s)
		}
		sign := ">"
		if metric == sequential.MetricRate {
			sign = "<"
		}
		texts = append(texts, metric+sign+value)
	}
	for _, text := range texts {
		l, err := load.ParseLimit(text)
		if err != nil {
			return usageError(err)
		}
		o.limits = append(o.limits, l.Text)
	}
	return nil
}

// completeRule says how sides are compared.
func (o *loadOptions) completeRule(compared, chosen bool) error {
	rule := sequential.DefaultComparing()
	o.rule = &rule
	if !compared {
		return o.completeGates([]string{sequential.MetricMean}) // with a baseline the mean latency is compared
	}
	if !chosen {
		o.metrics = []string{sequential.MetricRate, sequential.MetricCPU, "p50", "p99"}
		if o.rate > 0 {
			o.metrics = []string{sequential.MetricCPU, "p50", "p90", "p99"}
		}
	}
	for _, m := range o.metrics {
		if !sequential.KnownMetric(m) {
			return usageErrorf("--metrics %s: there are rate, cpu, mean and quantiles such as p99 or p99.9", m)
		}
	}
	rule.MinEffect = float64(o.minEffect)
	return o.completeGates(o.metrics)
}

// completeGates reads --fail-if-slower, of these metrics.
func (o *loadOptions) completeGates(metrics []string) error {
	o.gates = map[string]float64{}
	for _, text := range o.slower {
		metric, value, one := strings.Cut(text, "=")
		if !one {
			metric, value = "", text
		}
		var share percentFlag
		if err := share.Set(value); err != nil {
			return usageErrorf("--fail-if-slower %s: %w", text, err)
		}
		switch {
		case metric != "" && !slices.Contains(metrics, metric):
			return usageErrorf("--fail-if-slower %s: the sides are not compared by %s; see --metrics", text, metric)
		case metric != "":
			o.gates[metric] = float64(share)
		default:
			for _, m := range metrics {
				o.gates[m] = float64(share)
			}
		}
	}
	return nil
}
