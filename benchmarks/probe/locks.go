package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/benchmarks/outcomes"
)

// locks counts how often the zone of a lock is found: two workers count in one dictionary, so that they wait for each
// other, and nearly all that is looked at in the function that takes locks of shared memory is for that one.
func locks(moonlap string, length time.Duration) error {
	const workers, zone, function, core, caller = 2, "counts", "_M.contended", "resty/core/", "ngx_http_lua_ffi_shdict_incr"
	s, err := startNginx(workers)
	if err != nil {
		return err
	}
	defer s.stop()
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() { _, err := s.load(ctx, "/contended", connections); failed <- err }()
	defer func() { cancel(); <-failed }()
	fmt.Println("| looks by | looks | in ngx_shmtx_lock | with who called it | waiting | of the dictionary (95 %) | with the line |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for _, flags := range [][]string{{}, {"--locks"}, {"--locks", "--budget", "100%"}} {
		p, err := s.profile(moonlap, append([]string{"--hz", "999", "--duration", length.String()}, flags...)...)
		if err != nil {
			return err
		}
		looks, inside, called, waiting, named, lined := 0, 0, 0, 0, 0, 0
		for _, x := range p.Stacks {
			looks += x.Count
			if !slices.ContainsFunc(x.Frames, func(f frame) bool { return f.Function == "ngx_shmtx_lock" }) {
				continue
			}
			inside += x.Count
			if slices.ContainsFunc(x.Frames, func(f frame) bool { return f.Function == caller }) {
				called += x.Count
			}
			if x.Labels["lock"] == "" {
				continue
			}
			waiting += x.Count
			if x.Labels["lock"] == zone {
				named += x.Count
			}
			for _, f := range slices.Backward(x.Frames) { // the innermost of the program's own
				if f.Kind == "lua" && !strings.Contains(f.File, core) {
					if f.Function == function {
						lined += x.Count
					}
					break
				}
			}
		}
		low, high := outcomes.Wilson(named, waiting)
		fmt.Printf("| `%s` | %d | %s | %s | %d | %s (%.1f–%.1f) | %s |\n", strings.Join(append([]string{"--hz 999"}, flags...), " "), looks,
			percent(inside, looks), percent(called, inside), waiting, percent(named, waiting), 100*low, 100*high, percent(lined, waiting))
	}
	return nil
}
