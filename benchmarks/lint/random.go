package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomConfs are configurations put together by chance: words and quotes of nginx, Lua with what looks like braces and quotes, long
// brackets around the end of nginx's buffer of 4 KiB. Half of them lose or gain a character somewhere.
func randomConfs(n int, seed uint64) []string {
	list := make([]string, n)
	for i := range list {
		w := writer{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		text := w.conf()
		if w.IntN(2) == 0 {
			text = w.spoil(text)
		}
		list[i] = text
	}
	return list
}

// A writer writes one configuration.
type writer struct {
	*rand.Rand
	blocks int
}

func (w *writer) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w *writer) many(most int, one func() string) string {
	var b strings.Builder
	for range w.IntN(most + 1) {
		b.WriteString(one())
	}
	return b.String()
}

// conf is a whole configuration. Padding moves what follows towards the end of nginx's buffer.
func (w *writer) conf() string {
	pad := ""
	if w.IntN(2) == 0 {
		pad = "#" + strings.Repeat("x", 3500+w.IntN(600)) + "\n"
	}
	return "events { }\n" + pad + "http { access_log off;" + w.space() + w.many(2, w.outer) +
		"server { listen unix:/tmp/s; server_name localhost;" + w.space() + w.many(5, w.location) + "} }\n"
}

func (w *writer) space() string {
	return w.pick(" ", "\n", "\t\n", "\r\n", "\n# { ; \" ' }\n", "\n# ]] [[ --[[\n", " \n\n")
}

// outer is a directive of http.
func (w *writer) outer() string {
	w.blocks++
	return w.pick(
		"charset "+w.word()+";",
		fmt.Sprintf("map $uri $m%d { default %s; %s a;%s}", w.blocks, w.word(), w.quoted(), w.space()),
	) + w.space()
}

func (w *writer) location() string {
	w.blocks++
	return fmt.Sprintf("location /%d%s{%s%s%s}%s", w.blocks, w.space(), w.space(), w.many(3, w.directive), w.lua(), w.space())
}

func (w *writer) directive() string {
	return w.pick(
		"set $a"+w.space()+w.word()+";",
		"add_header X-A "+w.quoted()+w.pick("", " ")+";",
		"if ($uri = "+w.quoted()+") { return 204; }",
		"index"+w.space()+w.word()+";",
		"error_page 500 "+w.pick("/e", `"/e f"`, `'/e;f'`, `/e\{`)+";",
	) + w.space()
}

// word is one without quotes, which holds what ends a word only behind a backslash.
func (w *writer) word() string {
	return w.pick("a", "b-c", `a\;b`, `a\ b`, `a\{b`, `x"y`, "x'y", `a\"`, "a#b", "a}b", `\#a`, `a\\`)
}

func (w *writer) quoted() string {
	return w.pick(`""`, "''", `"a b"`, `'a;b'`, `"{ }"`, `"\""`, `'\''`, `"a\\"`, `'"'`, `"'"`, "\"a\nb\"", `"# no comment"`, `"]]"`)
}

// lua is a block of it, or none.
func (w *writer) lua() string {
	if w.IntN(3) == 0 {
		return ""
	}
	return "content_by_lua_block" + w.space() + "{" + w.many(9, w.statement) + w.pick("", "\n") + "}" + w.space()
}

func (w *writer) statement() string {
	equals := strings.Repeat("=", w.IntN(3))
	long := "[" + equals + "[" + w.pick("", "a", "}", "{", "\n", "]", "\"", "--", strings.Repeat("y", w.IntN(900))) + "]" + equals + "]"
	return w.pick(
		"local a = {1, {2}, b = {}} ",
		"f("+w.pick(`"}"`, `'{'`, `"\""`, `'\''`, `"\\"`, `'--'`, `"[["`, "'\\\n}'")+") ",
		"local s = "+long+" ",
		"--"+long+" f()\n",
		"-- } { \" ' \n",
		"--"+w.pick("", " ", "[", "[=", "]]")+"\n",
		"local t = {} t[t[1]] = 2 ",
		"local t = {[1] = {}} ",
		"if a then f{} end ",
		"return function() return {} end\n",
		"\n\n",
	)
}

// spoil takes a character out, puts one in, or ends the text early.
func (w *writer) spoil(text string) string {
	at := w.IntN(len(text))
	switch w.IntN(3) {
	case 0:
		return text[:at] + text[at+1:]
	case 1:
		return text[:at] + w.pick("{", "}", "\"", "'", ";", "[[", "]]", "--", "\\", "#") + text[at:]
	}
	return text[:at]
}
