package explain

import (
	"strings"

	"github.com/moonlap/moonlap/internal/worker"
)

// requestName is what Lua ran for.
func requestName(s worker.Sample) string {
	r := s.Request
	switch {
	case r.Unread:
		return "not known: looks before the first request was read"
	case s.Machine == "stream":
		return "a session of stream, or its timer"
	case r.URI == "" && s.Phase == "":
		return "no request: a timer, say"
	case r.URI == "" && ofNoClient(s.Phase):
		return "no request: " + s.Phase
	case r.URI == "":
		return "not known: its text could not be read"
	case r.Method == "":
		return r.URI
	}
	return r.Method + " " + r.URI
}

// ofNoClient tells of phases that Lua runs in without a request, or before there is one.
func ofNoClient(phase string) bool {
	return phase == "timer" || strings.HasSuffix(phase, "_worker") || strings.HasPrefix(phase, "ssl_")
}
