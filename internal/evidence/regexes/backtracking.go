package regexes

import "strings"

// backtracks is the part of a pattern that repeats what repeats itself, "(a+)+": PCRE may divide a subject among both in more ways than it can
// try, and tries all where the subject does not match. "" is a pattern in which there is none. Only repeats that can meet are
// meant: in (\d+,)* each round of the outer one needs its comma.
func backtracks(pattern string) string {
	type group struct {
		start  int  // of its bracket
		atomic bool // (?>…) gives nothing back
		open   bool // an alternative is all repeats, as far as it was read
		loops  bool // that has one at least
		any    bool // that has .*, which takes in what stands before and behind it
		found  bool // an alternative before was so
	}
	meets := func(g group) bool { return g.found || g.loops && (g.open || g.any) }
	groups := []group{{open: true}}
	for i := 0; i < len(pattern); {
		at, body := i, pattern[i:]
		inner, any := group{}, false
		switch {
		case pattern[i] == '(':
			atomic := strings.HasPrefix(body, "(?>")
			groups = append(groups, group{start: i, atomic: atomic, open: true})
			i += groupStart(body)
			continue
		case pattern[i] == '|':
			g := &groups[len(groups)-1]
			*g = group{start: g.start, atomic: g.atomic, open: true, found: meets(*g)}
			i++
			continue
		case pattern[i] == ')' && len(groups) > 1:
			inner = groups[len(groups)-1]
			groups = groups[:len(groups)-1]
			at = inner.start
			i++
		case pattern[i] == '\\':
			i += 2
		case pattern[i] == '[':
			i += classEnd(body)
		default:
			any = pattern[i] == '.'
			i++
		}
		i = min(i, len(pattern))
		repeated, optional, end := quantifier(pattern[i:])
		i += end
		g := &groups[len(groups)-1]
		ambiguous := !inner.atomic && meets(inner)
		switch {
		case repeated && ambiguous:
			return pattern[at:i]
		case repeated, ambiguous:
			g.loops = true
			g.any = g.any || any
		case !optional:
			g.open = false
		}
	}
	return ""
}

// groupStart is how long the beginning of a group is, with what says its kind and its name.
func groupStart(body string) int {
	n := 1
	if strings.HasPrefix(body, "(?") {
		n += 1 + len(body[2:]) - len(strings.TrimLeft(body[2:], "P<>=!:imsx-"))
		if name := strings.IndexByte(body[n:], '>'); strings.HasPrefix(body, "(?P<") && name >= 0 {
			n += name + 1
		}
	}
	return n
}

// classEnd is the length of a class, [a-z\]] or []].
func classEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == ']' && i > 1 && text[:i] != "[^":
			return i + 1
		}
	}
	return len(text)
}

// quantifier reads one: whether there is no end to it and it gives back, and whether it allows for nothing at all.
func quantifier(text string) (repeated, optional bool, end int) {
	if text == "" {
		return false, false, 0
	}
	switch text[0] {
	case '*', '+', '?':
		repeated, optional, end = text[0] != '?', text[0] != '+', 1
	case '{':
		closing := strings.IndexByte(text, '}')
		if closing < 0 {
			return false, false, 0
		}
		repeated, optional, end = text[closing-1] == ',', strings.HasPrefix(text, "{0"), closing+1
	}
	if end > 0 && end < len(text) {
		switch text[end] {
		case '+': // possessive
			return false, optional, end + 1
		case '?': // lazy
			end++
		}
	}
	return repeated, optional, end
}
