package heap

import (
	"fmt"
	"strings"

	"github.com/moonlap/moonlap/internal/profile"
)

// Profile makes a profile of what is held, in bytes: a frame is a holder, and on it stands what it alone
// holds. Where there are several heaps, their process is a label.
func (s *Snapshot) Profile(title string) *profile.Profile {
	p := &profile.Profile{Head: profile.Head{Title: title, Unit: profile.Bytes, Start: s.Time}}
	for _, h := range s.Heaps {
		var labels map[string]string
		if len(s.Heaps) > 1 {
			labels = map[string]string{"worker": fmt.Sprint(h.PID)}
			if h.Machine != "" {
				labels["machine"] = h.Machine
			}
		}
		var visit func(h *Holder, frames []profile.Frame)
		visit = func(h *Holder, frames []profile.Frame) {
			if h.Bytes > 0 {
				p.Add(frames, labels, h.Bytes)
			}
			for _, inner := range h.Inner {
				visit(inner, append(frames[:len(frames):len(frames)], profile.Frame{Function: inner.Name, Kind: kindOf(inner.Name)}))
			}
		}
		visit(h.Holders, nil)
	}
	p.Merge()
	return p
}

// kindOf is the kind of memory that a holder of a name is.
func kindOf(name string) profile.Kind {
	for _, k := range []struct {
		mark string
		kind profile.Kind
	}{
		{"cdata ", profile.CData}, {"function ", profile.Code}, {"code", profile.Code}, {"trace", profile.Code},
		{"string", profile.Strings}, {"names", profile.Strings}, {"chunk's name", profile.Strings},
		{"table", profile.Tables}, {"_G", profile.Tables}, {"registry", profile.Tables}, {"package.loaded", profile.Tables},
	} {
		if strings.Contains(name, k.mark) {
			return k.kind
		}
	}
	return profile.Other
}
