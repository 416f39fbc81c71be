package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/nginxconf"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// A ServerPlan is an nginx to start for a run.
type ServerPlan struct {
	Runtime record.Runtime // nginx
	Conf    string
	Prefix  string // "": the folder of Conf, or the one above a folder conf
	URL     *url.URL
	Unix    string // the socket that it listens at, in place of URL's host and port; ""
	// Move gives it places of its own to listen, so that several can run side by side.
	Move  bool
	CPUs  []int
	LogTo io.Writer
}

// A Server is the nginx of a run, with a folder of its own.
type Server struct {
	*runtime.Server
	folder string
	// URL is the one to load, with the port that it listens at.
	URL *url.URL
	// Host is what requests should name as their host, where that is not the URL's.
	Host string
}

// startTime is how long nginx may take until it listens.
const startTime = 15 * time.Second

// StartServer starts nginx and waits until it listens.
func StartServer(ctx context.Context, plan ServerPlan) (s *Server, err error) {
	if !plan.Move {
		if err := free(plan.addressOf(plan.URL)); err != nil {
			return nil, err
		}
	}
	folder, err := runtime.NewFolder()
	if err != nil {
		return nil, fmt.Errorf("no folder for the server: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(folder)
		}
	}()
	s = &Server{folder: folder, URL: plan.URL}
	conf, err := s.prepare(plan)
	if err != nil {
		return nil, err
	}
	spec := runtime.ServerSpec{Runtime: plan.Runtime, Prefix: filepath.Join(folder, "prefix"), Conf: conf, CPUs: plan.CPUs, LogTo: plan.LogTo}
	if err := runtime.CheckServer(ctx, spec); err != nil {
		return nil, fmt.Errorf("%s: %w", plan.Conf, err)
	}
	if s.Server, err = runtime.StartServer(spec); err != nil {
		return nil, err
	}
	if err := s.await(ctx, plan.addressOf(s.URL)); err != nil {
		s.Server.Stop()
		return nil, fmt.Errorf("%s: %w", plan.Conf, err)
	}
	return s, nil
}

// Stop ends the server, and takes its folder away.
func (s *Server) Stop() {
	s.Server.Stop()
	os.RemoveAll(s.folder)
}

// Workers are the server's processes.
func (s *Server) Workers() []int { return Family(s.PID) }

// free refuses an address where somebody listens already: that would be loaded in place of the new server.
func free(a address) error {
	c, err := a.dial()
	if err != nil {
		return nil
	}
	c.Close()
	return fmt.Errorf("something listens at %s already: stop it, or leave out --start to load that", a.place)
}

// An address is where a server listens.
type address struct{ network, place string }

func (a address) dial() (net.Conn, error) { return net.DialTimeout(a.network, a.place, time.Second) }

// addressOf is where a server listens for a URL.
func (p ServerPlan) addressOf(u *url.URL) address {
	if p.Unix != "" {
		return address{"unix", p.Unix}
	}
	return address{"tcp", net.JoinHostPort(u.Hostname(), portOf(u))}
}

// await waits until the server accepts connections.
func (s *Server) await(ctx context.Context, at address) error {
	for end := time.Now().Add(startTime); ; {
		if err := s.Gone(); err != nil {
			return err
		}
		c, err := at.dial()
		if err == nil {
			c.Close()
			s.awaitWorkers(ctx)
			return s.Gone()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("nginx runs, and nothing listens at %s: is that where the configuration listens?", at.place)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// awaitWorkers waits until the master has started its workers: it listens before that, and their CPU time is the server's.
// Without a master there are none.
func (s *Server) awaitWorkers(ctx context.Context) {
	const pause, enough = 20 * time.Millisecond, 2 * time.Second
	before := 0
	for end := time.Now().Add(enough); ctx.Err() == nil && s.Gone() == nil && time.Now().Before(end); time.Sleep(pause) {
		now := len(s.Workers())
		if now > 1 && now == before {
			return
		}
		before = now
	}
}

// ownFolders are those that nginx writes into, below its prefix.
var ownFolders = []string{"logs", "client_body_temp", "proxy_temp", "fastcgi_temp", "uwsgi_temp", "scgi_temp"}

// prepare makes the prefix: links to all that is in the user's, folders of its own for what nginx writes, and the configuration
// in the place where it was, so that relative paths and includes lead where they did.
func (s *Server) prepare(plan ServerPlan) (conf string, err error) {
	file, err := filepath.Abs(plan.Conf)
	if err != nil {
		return "", err
	}
	const mostConf = 16 << 20
	text, err := files.Read(file, mostConf)
	if err != nil {
		return "", fmt.Errorf("the configuration cannot be read: %w", err)
	}
	theirs := plan.Prefix
	if theirs == "" {
		theirs = filepath.Dir(file)
		if filepath.Base(theirs) == "conf" {
			theirs = filepath.Dir(theirs)
		}
	}
	if theirs, err = filepath.Abs(theirs); err != nil {
		return "", err
	}
	ours := filepath.Join(s.folder, "prefix")
	folder := filepath.Dir(file)
	place := filepath.Join(s.folder, "conf") // of a configuration that lies elsewhere
	if within, err := filepath.Rel(theirs, folder); err == nil && !strings.HasPrefix(within, "..") {
		place = filepath.Join(ours, within)
	}
	if err := mirror(theirs, ours, place); err != nil {
		return "", err
	}
	if place != ours {
		if err := mirror(folder, place, place); err != nil {
			return "", err
		}
	}
	for _, name := range ownFolders {
		if err := os.MkdirAll(filepath.Join(ours, name), 0o777); err != nil {
			return "", err
		}
	}
	if module := plan.Runtime.LuaModule; module != "" { // load_module modules/… is relative to the prefix that nginx was built with
		if err := os.Symlink(filepath.Dir(module), filepath.Join(ours, "modules")); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	var move func(string) string
	if plan.Move {
		if move, err = s.mover(plan, string(text)); err != nil {
			return "", err
		}
	}
	conf = filepath.Join(place, filepath.Base(file))
	os.Remove(conf)
	if err := os.Chmod(s.folder, 0o755); err != nil { // workers may be another user
		return "", err
	}
	return conf, os.WriteFile(conf, []byte(foreground(string(text), filepath.Join(s.folder, "nginx.pid"), move)), 0o644)
}

// mirror makes a folder of links to what is in another, but for the folders that nginx writes into; on the way to inner
// it makes folders.
func mirror(from, to, inner string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("nginx's prefix: %w", err)
	}
	for _, e := range entries {
		target := filepath.Join(to, e.Name())
		switch {
		case slices.Contains(ownFolders, e.Name()):
		case target == inner || strings.HasPrefix(inner, target+"/"):
			if target == inner {
				err = os.MkdirAll(target, 0o755)
			} else {
				err = mirror(filepath.Join(from, e.Name()), target, inner)
			}
		default:
			err = os.Symlink(filepath.Join(from, e.Name()), target)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// mover gives each place to listen a free one, and the server's URL the port of its own.
func (s *Server) mover(plan ServerPlan, text string) (func(string) string, error) {
	wanted, places := portOf(plan.URL), map[string]string{}
	found := false
	var all []string
	for _, at := range listens(nginxconf.Parse([]byte(text))) {
		address := at.Text
		all = append(all, address)
		port := portOfListen(address)
		if port == "" {
			places[address] = "unix:" + filepath.Join(s.folder, fmt.Sprintf("%d.sock", len(places)))
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		_, free, _ := net.SplitHostPort(l.Addr().String())
		l.Close()
		for other, moved := range places { // one port stays one, whatever the address before it
			if portOfListen(other) == port {
				_, free, _ = net.SplitHostPort(moved)
			}
		}
		host := "127.0.0.1"
		if h, _, err := net.SplitHostPort(address); err == nil && strings.HasPrefix(h, "[") {
			host = "[::1]"
		}
		places[address] = host + ":" + free
		if port == wanted {
			found = true
			u := *plan.URL
			u.Host = "127.0.0.1:" + free
			s.URL, s.Host = &u, plan.URL.Host
		}
	}
	if !found {
		return nil, fmt.Errorf("%s does not listen at port %s of %s; it has %s", plan.Conf, wanted, plan.URL, strings.Join(all, ", "))
	}
	return func(address string) string { return places[address] }, nil
}

// AllowedCPUs are the CPUs that we may run on.
func AllowedCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var list []int
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list
}

// MostFiles is how many files we may have open; 0: not known.
func MostFiles() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Max, 1<<30)) // Go raises the soft limit up to the hard one
}
