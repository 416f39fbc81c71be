package runtime

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// An nginxLog reads what nginx and the code in it write to stderr. It takes out
// nginx's own notices, tells of the workers' deaths, and hands on the rest: errors,
// what Lua logs, and what the code writes to stderr itself.
type nginxLog struct {
	master  int       // PID whose word on dead workers counts
	out     io.Writer // takes what is handed on
	died    func(workerDeath)
	refusal []string // the lines in which nginx says why it can't start
	partial []byte   // a line without its end that may yet turn out to be nginx's
}

// A workerDeath is what the master says of a worker that is gone.
type workerDeath struct {
	pid    int
	status int
	signal syscall.Signal // 0: it exited
}

var (
	logLine = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[(\w+)\] (\d+)#\d+: (.*)`)
	// The wordings of ngx_process_get_status in nginx's os/unix/ngx_process.c.
	exitedLine = regexp.MustCompile(`^worker process (\d+) exited (?:(on signal)|with code|with fatal code) (\d+)`)
)

// maxLogLine is more than nginx writes in one line (NGX_MAX_ERROR_STR is 2048).
const maxLogLine = 8 << 10

// Write takes the next piece of stderr.
func (l *nginxLog) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		piece := b
		end := bytes.IndexByte(b, '\n')
		if end >= 0 {
			piece = b[:end+1]
		}
		b = b[len(piece):]
		l.partial = append(l.partial, piece...)
		// The code's own output is handed on at once: it may be a prompt.
		if end >= 0 || !maybeLogLine(l.partial) || len(l.partial) > maxLogLine {
			l.line(l.partial)
			l.partial = l.partial[:0]
		}
	}
	return n, nil
}

// flush hands on what has no end of line and will get none.
func (l *nginxLog) flush() {
	if len(l.partial) > 0 {
		l.line(l.partial)
		l.partial = nil
	}
}

func (l *nginxLog) line(b []byte) {
	text := strings.TrimRight(string(b), "\n")
	if m := logLine.FindStringSubmatch(text); m != nil {
		level, message := m[1], m[3]
		pid, _ := strconv.Atoi(m[2])
		if pid == l.master && l.exited(message) {
			return
		}
		switch level {
		case "emerg", "alert", "crit", "error":
			l.refusal = append(l.refusal, text)
			if len(l.refusal) > 10 {
				l.refusal = l.refusal[1:]
			}
			if level == "emerg" {
				return // it becomes the fault's text
			}
		case "notice", "info", "debug":
			if !strings.Contains(message, "[lua]") {
				return
			}
		}
	}
	l.out.Write(b)
}

func (l *nginxLog) exited(message string) bool {
	m := exitedLine.FindStringSubmatch(message)
	if m == nil {
		return false
	}
	pid, _ := strconv.Atoi(m[1])
	number, _ := strconv.Atoi(m[3])
	death := workerDeath{pid: pid, status: number}
	if m[2] != "" {
		death = workerDeath{pid: pid, signal: syscall.Signal(number)}
	}
	l.died(death)
	return true
}

// maybeLogLine reports whether b may be the beginning of a line in nginx's log.
func maybeLogLine(b []byte) bool {
	const form = "dddd/dd/dd dd:dd:dd ["
	for i := range min(len(b), len(form)) {
		digit := b[i] >= '0' && b[i] <= '9'
		if form[i] == 'd' != digit || !digit && b[i] != form[i] {
			return false
		}
	}
	return true
}
