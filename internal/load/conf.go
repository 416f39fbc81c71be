package load

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// A statement is a directive of nginx.conf: its words, and where they stand.
type statement struct {
	words    []string
	at       [][2]int // of each word, with its quotes
	from, to int      // of the whole, with its semicolon
	within   []string // names of the blocks around it
}

// statements reads the directives of a configuration, those that open a block with them. Blocks of Lua are skipped. It is
// as lenient as it can be: what nginx refuses, nginx will tell.
func statements(text string) []statement {
	var list []statement
	var within []string
	var s statement
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		case c == '#':
			i = end(text, i, "\n")
		case c == ';' || c == '{':
			if len(s.words) > 0 {
				s.to, s.within = i+1, slices.Clone(within)
				list = append(list, s)
			}
			i++
			if c == '{' {
				name := ""
				if len(s.words) > 0 {
					name = s.words[0]
				}
				if strings.HasSuffix(name, "_by_lua_block") {
					i = skipLua(text, i)
				} else {
					within = append(within, name)
				}
			}
			s = statement{}
		case c == '}':
			within = within[:max(0, len(within)-1)]
			s = statement{}
			i++
		default:
			word, next := wordAt(text, i)
			if len(s.words) == 0 {
				s.from = i
			}
			s.words, s.at = append(s.words, word), append(s.at, [2]int{i, next})
			i = next
		}
	}
	return list
}

func end(text string, from int, what string) int {
	if n := strings.Index(text[from:], what); n >= 0 {
		return from + n + len(what)
	}
	return len(text)
}

// wordAt reads a word, in quotes or bare; a bare one may hold ${name}.
func wordAt(text string, i int) (word string, next int) {
	if quote := text[i]; quote == '"' || quote == '\'' {
		j := i + 1
		for j < len(text) && text[j] != quote {
			if text[j] == '\\' {
				j++
			}
			j++
		}
		j = min(j, len(text))
		return text[i+1 : j], min(j+1, len(text))
	}
	j := i
	for j < len(text) && !strings.ContainsRune(" \t\r\n;{}", rune(text[j])) {
		switch {
		case text[j] == '\\':
			j++
		case text[j] == '$' && j+1 < len(text) && text[j+1] == '{':
			j = end(text, j, "}") - 1
		}
		j++
	}
	j = max(i+1, min(j, len(text)))
	return text[i:j], j
}

// skipLua is where the code ends whose block was opened just before i, behind its brace.
func skipLua(text string, i int) int {
	for depth := 1; i < len(text); {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "--"):
			if close, ok := longBracket(text[i+2:]); ok {
				i = end(text, i+2, close)
			} else {
				i = end(text, i, "\n")
			}
		case c == '"' || c == '\'':
			_, i = wordAt(text, i)
		case c == '[':
			if close, ok := longBracket(text[i:]); ok {
				i = end(text, i, close)
			} else {
				i++
			}
		case c == '{':
			depth++
			i++
		case c == '}':
			i++
			if depth--; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return i
}

// longBracket is what closes a long bracket of Lua that text begins with: [[ or [==[.
func longBracket(text string) (close string, ok bool) {
	if !strings.HasPrefix(text, "[") {
		return "", false
	}
	level := len(text[1:]) - len(strings.TrimLeft(text[1:], "="))
	if !strings.HasPrefix(text[1+level:], "[") {
		return "", false
	}
	return "]" + strings.Repeat("=", level) + "]", true
}

// A listen is where a configuration listens: "8080", "127.0.0.1:8080", "unix:/path".
type listen struct {
	address string
	at      [2]int
}

// foreground rewrites a configuration for a server that we start: in the foreground, its PID file in a folder of ours, and,
// where move is given, with other places to listen. Lines keep their numbers.
func foreground(text, pidFile string, move func(address string) string) string {
	type change struct {
		at  [2]int
		new string
	}
	var changes []change
	for _, s := range statements(text) {
		switch {
		case len(s.within) == 0 && slices.Contains([]string{"daemon", "pid"}, s.words[0]):
			changes = append(changes, change{[2]int{s.from, s.to}, ""})
		case move != nil && isListen(s):
			changes = append(changes, change{s.at[1], move(s.words[1])})
		}
	}
	out := fmt.Sprintf("daemon off; pid %q; ", pidFile)
	last := 0
	for _, c := range changes {
		out += text[last:c.at[0]] + c.new
		last = c.at[1]
	}
	return out + text[last:]
}

func isListen(s statement) bool {
	return s.words[0] == "listen" && len(s.words) > 1 && len(s.within) > 0 && s.within[len(s.within)-1] == "server"
}

// listens are where a configuration listens, without what it includes.
func listens(text string) []string {
	var list []string
	for _, s := range statements(text) {
		if isListen(s) {
			list = append(list, s.words[1])
		}
	}
	return list
}

// portOfListen is the port of "8080", "*:8080" and the like; "" of a unix socket. An address alone means port 80.
func portOfListen(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return ""
	}
	if _, port, err := net.SplitHostPort(address); err == nil {
		return port
	}
	if strings.Trim(address, "0123456789") == "" {
		return address
	}
	return "80"
}
