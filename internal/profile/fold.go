package profile

import (
	"slices"
	"strings"
)

// drawn is a frame as pictures have it.
type drawn struct {
	Name  string `json:"n"`
	Kind  string `json:"k"` // a Kind, or jit
	Place string `json:"p,omitempty"`
}

// longestCycle is how many functions may call each other in a circle that is folded.
const longestCycle = 3

// drawnOf is a stack as pictures have it. Functions that call themselves, or each other in a circle, stand there once and are marked;
// so do functions of a library without names, one after another. Files for other programs keep all frames.
func drawnOf(frames []Frame) []drawn {
	out := []drawn{}
	var again []bool
	for _, f := range frames {
		out, again = append(out, f.drawn()), append(again, false)
		for n := 1; n <= longestCycle && f.ofCode(); n++ {
			if at := len(out) - n; at >= n && slices.Equal(out[at:], out[at-n:at]) {
				out, again = out[:at], again[:at]
				for i := at - n; i < at; i++ {
					again[i] = true
				}
				break
			}
		}
	}
	for i := range out {
		if again[i] && !strings.HasSuffix(out[i].Name, nameless) {
			out[i].Name += " (recursive)"
		}
	}
	return out
}

// nameless is shown for a function without a name, in place of its address: nginx+0x1230 tells a reader no more than nginx does.
const nameless = "+0x…"

func (f Frame) drawn() drawn {
	d := drawn{Name: f.Name(), Kind: string(f.Kind), Place: f.File}
	if f.Compiled {
		d.Kind = "jit"
	}
	if file, address, found := strings.Cut(f.Function, nameless[:3]); found && f.Kind == C && strings.Trim(address, "0123456789abcdef") == "" {
		d.Name = file + nameless
	}
	return d
}

func (f Frame) ofCode() bool { return slices.Contains(kinds[:4], f.Kind) }
