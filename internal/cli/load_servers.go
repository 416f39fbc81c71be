package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/runtime"
)

// loadServers are those that a run of load has started.
type loadServers struct{ running []*load.Server }

// start starts the server of --start, or those of --ab-conf side by side.
func (s *loadServers) start(ctx context.Context, sys Sys, o *loadOptions) error {
	nginx, err := runtime.Find(ctx, runtime.Nginx, runtime.Options{Nginx: o.nginx, Path: sys.Getenv("PATH")})
	if err != nil {
		return err
	}
	target, err := load.Target(o.url)
	if err != nil {
		return usageError(err)
	}
	confs, move := o.abConf, true
	if o.start != "" {
		confs, move = []string{o.start}, false
	}
	for _, conf := range confs {
		server, err := load.StartServer(ctx, load.ServerPlan{
			Runtime: nginx, Conf: conf, Prefix: o.prefix, URL: target, Unix: o.unix, Move: move, CPUs: o.serverCPUs,
		})
		if err != nil {
			return err
		}
		s.running = append(s.running, server)
	}
	return nil
}

func (s *loadServers) url(i int, fallback string) string {
	if i < len(s.running) {
		return s.running[i].URL.String()
	}
	return fallback
}

// own makes a side that of a server: its processes, and the host that the user's URL names.
func (s *loadServers) own(i int, side *load.Side) {
	side.Find = s.pids(i)
	named := slices.ContainsFunc(side.Headers, func(h [2]string) bool { return strings.EqualFold(h[0], "Host") })
	if host := s.running[i].Host; host != "" && !named {
		side.Headers = append(side.Headers, [2]string{"Host", host})
	}
}

func (s *loadServers) pids(i int) func() []int { return s.running[i].Workers }

// died is why one of them is gone.
func (s *loadServers) died() error {
	for _, server := range s.running {
		if why := server.Gone(); why != nil {
			return fmt.Errorf("the server under test is gone: %w", why)
		}
	}
	return nil
}

func (s *loadServers) stop() {
	for _, server := range s.running {
		server.Stop()
	}
	s.running = nil
}
