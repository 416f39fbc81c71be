package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Classes of code, by when it runs.
const (
	Request = "request"
	Timer   = "timer"
	Init    = "init"
	CLI     = "cli"
	Test    = "test"
)

// A PathClass gives the files of a pattern a class. In a pattern * is any part of a name, ** any folders.
type PathClass struct{ Pattern, Class string }

// UnmarshalJSON reads ["PATTERN", "CLASS"].
func (p *PathClass) UnmarshalJSON(text []byte) error {
	var pair []string
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errors.New("a class is {PATTERN, CLASS}")
	}
	p.Pattern, p.Class = pair[0], pair[1]
	return nil
}

// defaultClasses are for the layouts of Kong, APISIX and plain OpenResty. What none matches is on the path of requests.
var defaultClasses = []PathClass{
	{"**/spec/**", Test}, {"**/t/**", Test}, {"**/test/**", Test}, {"**/tests/**", Test}, {"**/*_spec.lua", Test},
	{"**/*_test.lua", Test}, {"**/example/**", Test}, {"**/examples/**", Test}, {"**/bench/**", Test},
	{"**/benchmark/**", Test}, {"**/benchmarks/**", Test}, {"**/dev/**", Test}, {"**/integration/**", Test}, {"**/*e2e*/**", Test}, {"**/test.lua", Test},

	{"**/bin/**", CLI}, {"**/cmd/**", CLI}, {"**/cli/**", CLI}, {"**/ci/**", CLI}, {"**/script/**", CLI},
	{"**/scripts/**", CLI}, {"**/migrations/**", CLI}, {"**/autodoc/**", CLI}, {"**/build/**", CLI}, {"**/docs/**", CLI}, {"**/doc/**", CLI},
	// Kong's Admin API and APISIX's: configuration, not traffic.
	{"kong/api/**", CLI}, {"apisix/admin/**", CLI}, {"apisix/control/**", CLI}, {"**/plugins/*/api.lua", CLI},
	{"**/dashboard/**", CLI},

	{"**/schema.lua", Init}, {"**/schema_def.lua", Init}, {"**/schema/**", Init}, {"**/conf_loader/**", Init},
	{"kong/db/**", Init}, {"**/constants.lua", Init}, {"**/init_worker.lua", Init}, {"**/config_loader/**", Init},
	{"**/configuration_loader/**", Init}, {"kong/globalpatches.lua", Init}, {"apisix/patch.lua", Init},
	// What follows the configuration, beside the requests.
	{"apisix/discovery/**", Timer}, {"apisix/core/config_*.lua", Timer}, {"apisix/inspect/**", Timer},
	{"apisix/plugins/log-rotate.lua", Timer}, {"kong/clustering/**", Timer}, {"kong/cluster_events/**", Timer},
	{"kong/runloop/plugin_servers/process.lua", Timer},
}

// A matcher tells the class of a path.
type matcher struct {
	patterns []*regexp.Regexp
	classes  []string
}

func newMatcher(classes []PathClass) matcher {
	var m matcher
	for _, c := range classes {
		m.patterns = append(m.patterns, glob(c.Pattern))
		m.classes = append(m.classes, c.Class)
	}
	return m
}

// class is that of a path, relative to the project and with slashes.
func (m matcher) class(path string) string {
	for i, p := range m.patterns {
		if p.MatchString(path) {
			return m.classes[i]
		}
	}
	return Request
}

// glob is a pattern as a regular expression over the whole path.
func glob(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i++
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return regexp.MustCompile("(?s)" + b.String() + "$")
}

func (p PathClass) String() string { return fmt.Sprintf("%-8s %s", p.Class, p.Pattern) }
