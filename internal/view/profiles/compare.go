package profiles

import (
	"errors"
	"fmt"

	"github.com/moonlap/moonlap/internal/profile"
)

// Compare is how two profiles differ, or why they cannot be compared; "" is a title that follows from theirs.
func Compare(before, after *profile.Profile, title string, lines bool) (*profile.Diff, error) {
	if before.Mode != after.Mode && before.Mode != "" && after.Mode != "" {
		return nil, fmt.Errorf("one profile is %s, the other %s: they count different things", before.Mode, after.Mode)
	}
	if before.By != after.By && before.By != "" && after.By != "" {
		return nil, fmt.Errorf("one profile was sampled by %s, the other by %s, and only one of these sees the kernel: "+
			"take both with the same --by", before.By, after.By)
	}
	for _, p := range []*profile.Profile{before, after} {
		if p.Unit == profile.Time {
			return nil, fmt.Errorf("%q is about time, and differences compare samples: those of --on-cpu, or with --by ptrace", p.Title)
		}
		if p.Total() == 0 {
			return nil, fmt.Errorf("%q has no samples: there is nothing to compare", p.Title)
		}
	}
	if before.Unit == profile.Bytes || after.Unit == profile.Bytes {
		return nil, errors.New("a profile of memory is none of time")
	}
	if title == "" {
		title = before.Title + " → " + after.Title
	}
	return &profile.Diff{Title: title, Before: before, After: after, Lines: lines}, nil
}
