package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/push"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

// pushFlags say which server gets profiles.
type pushFlags struct {
	to, as  string
	headers []string
	server  *push.Server // nil: none does
}

func (o *pushFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.to, "push", "", "send the profile to a server: Pyroscope's\n`URL`/ingest, Parca's URL/api/profiles/writeraw")
	f.StringVar(&o.as, "push-as", "", "`NAME` of the service there, with labels if need\nbe: gateway{region=eu}")
	f.StringArrayVar(&o.headers, "push-header", nil, "`HEADER` of these requests, as 'X-Scope-OrgID: us'")
}

// name finds the server, and names what the profiles are of: a command, or nginx.
func (o *pushFlags) name(command []string) (err error) {
	if o.to == "" {
		return nil
	}
	name := "nginx"
	if len(command) > 0 {
		name = filepath.Base(command[0])
	}
	if o.server, err = push.New(o.to, cmp.Or(o.as, name), o.headers); err != nil {
		return usageErrorf("--push: %w", err)
	}
	if host, err := os.Hostname(); err == nil {
		o.server.Label("host", host)
	}
	return nil
}

// lastTries is how long the last profiles are tried to be sent, once a command is over.
const lastTries = 10 * time.Second

// deliver writes a profile, and sends it where that is wanted.
func (o *profileOptions) deliver(sys Sys, p *profile.Profile) error {
	err := o.write(sys, p)
	if o.server == nil {
		return err
	}
	r, failed := o.server.Encode(p)
	if failed != nil {
		return errors.Join(err, failed)
	}
	q := push.NewQueue(o.server, noting(sys))
	q.Put(r)
	ctx, stop := context.WithTimeout(context.Background(), lastTries) // also after Ctrl-C
	defer stop()
	if t := q.Flush(ctx); t.Sent == 0 {
		return errors.Join(err, fmt.Errorf("the profile was not sent to %s", o.server))
	}
	note(sys, fmt.Sprintf("sent to %s", o.server))
	return err
}

// continuousOptions are the flags of profile --continuous.
type continuousOptions struct {
	continuous bool
	every      time.Duration
	keep       int
}

// continuousHz is how often workers are sampled that are always: no divisor of what they may do regularly.
const continuousHz = 19

func (o *continuousOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.continuous, "continuous", false, "profile until Ctrl-C, at 19 Hz, and send or write\na profile every 10 s")
	f.DurationVar(&o.every, "every", 10*time.Second, "with --continuous: time that one profile is of")
	f.IntVar(&o.keep, "keep", 1000, "with --continuous and --out FOLDER: how many\nprofiles stay there; the oldest go")
}

// checkContinuous refuses what makes one profile, where many are wanted.
func (o *profileOptions) checkContinuous(args []string) error {
	switch {
	case len(args) > 0 || o.command != nil:
		return usageErrorf("--continuous is for workers that run: --pid, --master or --all")
	case o.to == "" && o.out == "":
		return usageErrorf("--continuous: where to? --push URL, or --out FOLDER")
	case o.out == "-":
		return usageErrorf("--continuous: --out is a folder, with a file a profile")
	case o.out != "" && o.format == "":
		o.format = "pprof"
	}
	return nil
}

// A stream is what becomes of the profiles of --continuous.
type stream struct {
	*profileOptions
	sys    Sys
	way    *profiles.Way
	queue  *push.Queue     // nil: they are written alone
	noted  map[string]bool // errors, by text
	made   int
	failed error
}

// runContinuous profiles workers, interval after interval.
func runContinuous(ctx context.Context, sys Sys, o *profileOptions, way *profiles.Way) error {
	if o.bounded {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, o.duration, errEnough)
		defer stop()
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o700); err != nil {
			return err
		}
	}
	s := &stream{profileOptions: o, sys: sys, way: way, noted: map[string]bool{}}
	sending, stop := context.WithCancel(context.Background())
	defer stop()
	sent := make(chan bool)
	if o.server != nil {
		s.queue = push.NewQueue(o.server, noting(sys))
		go func() {
			s.queue.Run(sending)
			close(sent)
		}()
	}
	note(sys, fmt.Sprintf("a profile every %s; Ctrl-C ends", o.every))
	way.Continuous(ctx, &o.Choice, o.every, s.each)
	if o.server != nil {
		stop()
		<-sent
		s.flush()
	}
	switch {
	case s.made == 0 && s.failed != nil:
		return s.failed
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errEnough):
		return ctx.Err()
	case s.failed != nil:
		return exitWith(ExitPartial, s.failed)
	case ctx.Err() == nil:
		return exitWith(ExitPartial, errors.New("no worker is left"))
	}
	return nil
}

// errEnough is why profiling ends after --duration.
var errEnough = errors.New("enough")

// each sends and writes what an interval has seen. What cannot be done is reported once, and does not end the next ones.
func (s *stream) each(all []profiles.Sampled) {
	p, errs := s.way.Document(all, nil)
	for _, err := range errs {
		s.fail(err)
	}
	if len(p.PIDs) == 0 {
		return
	}
	if p.Title = s.title; p.Title == "" {
		p.Title = s.who(p.PIDs) + ", " + s.Mode.Name
	}
	s.made++
	if s.server != nil {
		r, err := s.server.Encode(p)
		if err == nil {
			s.queue.Put(r)
		}
		s.fail(err)
	}
	if s.out != "" {
		s.fail(s.file(p))
	}
}

func (s *stream) fail(err error) {
	const most = 100 // kinds of faults
	if err == nil || s.noted[err.Error()] || len(s.noted) == most {
		return
	}
	s.noted[err.Error()] = true
	s.failed = err
	note(s.sys, err.Error())
}

// written are the files of a folder that --continuous has written.
var written = regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z\.(profile\.)?[a-z.]+$`)

// file writes a profile into the folder, and removes the oldest of too many.
func (s *stream) file(p *profile.Profile) error {
	var b bytes.Buffer
	if err := p.Write(&b, s.format, ""); err != nil {
		return err
	}
	name := p.Start.UTC().Format("20060102T150405.000Z") + profile.EndingOf(s.format)
	if err := writeOut(s.sys, filepath.Join(s.out, name), "the profile", b.Bytes(), files.Private); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.out)
	ours := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !written.MatchString(e.Name()) || !e.Type().IsRegular() })
	for i := 0; i < len(ours)-s.keep; i++ { // by name, which is by time
		err = errors.Join(err, os.Remove(filepath.Join(s.out, ours[i].Name())))
	}
	return err
}

// flush sends what waits, and reports what became of all profiles.
func (s *stream) flush() {
	ctx, stop := context.WithTimeout(context.Background(), lastTries)
	defer stop()
	t := s.queue.Flush(ctx)
	text := fmt.Sprintf("sent %s to %s", counted(t.Sent, "profile"), s.server)
	for _, lost := range []struct {
		n   int
		how string
	}{{t.Dropped, "dropped, the oldest, as too many waited"}, {t.Refused, "refused by it"}, {t.Left, "not sent, as it did not answer"}} {
		if lost.n > 0 {
			text += fmt.Sprintf("; %d %s", lost.n, lost.how)
			s.failed = errors.New("not all profiles were sent")
		}
	}
	note(s.sys, text)
}
