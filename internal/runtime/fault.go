package runtime

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// fault says why the process did not finish; nil when it did, when a line of its own
// says so already, or when the caller ended it.
func (s *supervisor) fault(ctx context.Context) *record.Fault {
	job := s.p.spec.Job
	switch {
	case s.faulted, s.finished >= job.Workers, job.Mode == ModeRun && s.death != nil && s.death.signal == 0:
		return nil
	case ctx.Err() != nil && s.stopping && !s.timedOut && s.death == nil:
		return nil
	}
	kind, text := s.cause()
	f := &record.Fault{In: record.In{Process: job.Process}, Case: job.Case, Kind: kind, Text: text}
	if job.Mode != ModeMeasure {
		f.Case = -1
	}
	if s.death != nil {
		f.Worker = s.pids[s.death.pid]
	}
	return f
}

// cause is the kind of the fault and its text, the more telling causes first.
func (s *supervisor) cause() (kind, text string) {
	status, _ := s.ended.Sys().(syscall.WaitStatus)
	signalled := !s.stopping && status.Signaled()
	switch {
	case s.timedOut:
		return record.FaultTimeout, fmt.Sprintf("%s did not end within %s%s",
			s.subject(), s.p.spec.Timeout, s.lastHeard())
	case s.death != nil && s.death.signal != 0:
		return record.FaultCrash, s.killed("the nginx worker", s.death.signal)
	case s.death != nil && s.last == nil:
		return record.FaultStart, fmt.Sprintf("the nginx worker ended with status %d before it said anything%s",
			s.death.status, s.printed())
	case s.death != nil:
		return record.FaultExit, s.exitedItself(s.death.status)
	case s.nginx && s.last == nil && !s.stopping && !signalled:
		return record.FaultStart, s.refusal()
	case s.refused > 0 && s.last == nil:
		return record.FaultStart, fmt.Sprintf("nginx answered %d to the request that starts the job; "+
			"do directives in --http-conf stop requests?%s", s.refused, s.printed())
	case signalled:
		return record.FaultCrash, s.killed(s.p.spec.Runtime.Kind, status.Signal())
	case s.nginx && s.answered > 0:
		return record.FaultExit, s.subject() + " ended its request before it had finished (ngx.exit, ngx.redirect?)"
	case s.silenced && s.stopping:
		return record.FaultChannel, s.subject() + " closed the channel to moonlap before it had finished" + s.lastHeard()
	case s.last == nil && s.stderr != nil && strings.HasPrefix(string(s.stderr.head), luajitName+":"):
		return record.FaultStart, fmt.Sprintf("%s did not start%s", s.p.spec.Runtime.Path, s.printed())
	}
	return record.FaultExit, s.exitedItself(s.ended.ExitCode())
}

// subject is what the job was about.
func (s *supervisor) subject() string {
	job := s.p.spec.Job
	switch {
	case job.Mode == ModeMeasure && job.Name != "":
		return fmt.Sprintf("the case %q", job.Name)
	case job.File != "":
		return job.File
	}
	return "the code"
}

func (s *supervisor) killed(what string, by syscall.Signal) string {
	text := fmt.Sprintf("%s was killed by %s while it ran %s", what, signalName(by), s.subject())
	if by == syscall.SIGKILL {
		text += "; the kernel does so when memory runs out"
	}
	return text + s.lastHeard()
}

func (s *supervisor) exitedItself(status int) string {
	return fmt.Sprintf("%s ended its own process with status %d before it had finished (os.exit?)%s%s",
		s.subject(), status, s.lastHeard(), s.printed())
}

// lastHeard says what the process was last known to do.
func (s *supervisor) lastHeard() string {
	if s.last == nil {
		return "; nothing was heard of it"
	}
	return fmt.Sprintf("; last heard after %s: %s",
		s.lastAt.Sub(s.p.started).Round(time.Millisecond), describe(s.last))
}

func describe(l record.Line) string {
	switch l := l.(type) {
	case record.Process:
		return "it had started"
	case record.Batches:
		return fmt.Sprintf("%s batches, series %d", l.Kind, l.Series)
	case record.Laps:
		return "laps, " + l.Kind
	}
	return l.Type()
}

// printed is the end of what the process had to say on stderr.
func (s *supervisor) printed() string {
	if s.stderr == nil {
		return ""
	}
	text := strings.TrimSpace(string(s.stderr.head))
	if text == "" {
		return ""
	}
	const most = 1000
	if len(text) > most {
		text = text[:most] + " …"
	}
	return "; it printed: " + text
}

// refusal is why nginx did not start, in its own words.
func (s *supervisor) refusal() string {
	lines := s.log.refusal
	if len(lines) == 0 {
		return fmt.Sprintf("%s did not start: status %d%s",
			s.p.spec.Runtime.Path, s.ended.ExitCode(), s.printed())
	}
	text := "nginx did not start: " + strings.Join(lines, "\n")
	if where := s.p.conf.blame(lines); where != "" {
		text += "\n" + where
	}
	for _, line := range lines {
		if strings.Contains(line, "resty.core") {
			text += "\ninstall lua-resty-core (Debian, Ubuntu), which the Lua module needs, or say where it is: " +
				`--http-conf 'lua_package_path "/usr/local/openresty/lualib/?.lua;;";'`
			break
		}
	}
	return text
}
