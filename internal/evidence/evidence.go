// Package evidence is what was observed of workers, by kinds. Each kind has a package of its own below this one, with all that is
// known of it: how it is observed, its result, how that is drawn.
package evidence

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/metrics"
	"github.com/moonlap/moonlap/internal/ui"
)

// A Result is what was observed of one kind. As JSON it is what its struct tags say.
type Result interface {
	// Merge is both together: of other workers, or of another time.
	Merge(Result) Result
	// Text draws it; whose says of which workers it is, where a page has several: " of nginx 17".
	Text(p *ui.Page, whose string)
}

// Metered is a Result for Prometheus: of what is observed all the time, and not for a while.
type Metered interface {
	Metrics(p *metrics.Page, labels ...string)
}

// A Set is results by the names of their kinds.
type Set map[string]Result

var known = map[string]func() Result{}

// Register makes results of a kind known, so that kept ones can be read. empty is a pointer to none.
func Register(kind string, empty func() Result) { known[kind] = empty }

// Kinds are the names of all kinds that are known, in order.
func Kinds() []string { return slices.Sorted(maps.Keys(known)) }

// Merge is both together. Neither changes.
func (s Set) Merge(o Set) Set {
	if len(o) == 0 {
		return s
	}
	both := maps.Clone(s)
	if both == nil {
		both = Set{}
	}
	for kind, result := range o {
		if mine, there := both[kind]; there {
			result = mine.Merge(result)
		}
		both[kind] = result
	}
	return both
}

// Text draws what there is of some kinds, in their order.
func (s Set) Text(p *ui.Page, whose string, kinds ...string) {
	for _, kind := range kinds {
		if result, there := s[kind]; there {
			result.Text(p, whose)
		}
	}
}

// Others are the kinds that there are beside some.
func (s Set) Others(kinds ...string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(kind string) bool { return slices.Contains(kinds, kind) })
}

// Metrics writes what is Metered.
func (s Set) Metrics(p *metrics.Page, labels ...string) {
	for _, kind := range slices.Sorted(maps.Keys(s)) {
		if result, ok := s[kind].(Metered); ok {
			result.Metrics(p, labels...)
		}
	}
}

// UnmarshalJSON reads what was kept.
func (s *Set) UnmarshalJSON(data []byte) error {
	var kinds map[string]json.RawMessage
	if err := json.Unmarshal(data, &kinds); err != nil {
		return err
	}
	*s = Set{}
	for kind, raw := range kinds {
		empty := known[kind]
		if empty == nil {
			return fmt.Errorf("evidence %q is of a kind that this moonlap does not know; it knows %s", kind, strings.Join(Kinds(), ", "))
		}
		result := empty()
		if err := json.Unmarshal(raw, result); err != nil {
			return fmt.Errorf("evidence %q: %w", kind, err)
		}
		(*s)[kind] = result
	}
	return nil
}

// Put adds a result, unless it is nil: where a kind has observed nothing.
func Put[R any, P interface {
	*R
	Result
}](s Set, kind string, result P) {
	if result != nil {
		s[kind] = result
	}
}
