package ui

import "strings"

// escape keeps a text from being read as Markdown or HTML, also inside a table.
var escape = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "&", "&amp;",
).Replace

// item writes a line as Markdown: a paragraph or, where it has a margin, an entry of a list.
func (p *Page) item(line string) {
	text := strings.TrimLeft(line, " ")
	if depth := (len(line) - len(text)) / 2; depth > 0 {
		p.b.WriteString(strings.Repeat("  ", depth-1) + "- ")
	}
	p.b.WriteString(p.inMarkdown(text) + "\n")
}

func (p *Page) inMarkdown(text string) string {
	return escape(strings.TrimSpace(harmless(unglue.Replace(text), p.styles)))
}

// markdownTable is Table as GitHub renders it.
func (p *Page) markdownTable(headers []string, rows [][]string, left map[int]bool) {
	row := func(cells []string) {
		for _, cell := range cells {
			p.b.WriteString("| " + p.inMarkdown(cell) + " ")
		}
		p.b.WriteString("|\n")
	}
	p.Blank()
	row(headers)
	for i := range headers {
		p.b.WriteString(map[bool]string{true: "| --- ", false: "| ---: "}[left[i]])
	}
	p.b.WriteString("|\n")
	for _, cells := range rows {
		row(cells)
	}
	p.Blank()
}
