package ui

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// MostLines is how many lines of Lua, or requests, are shown before the rest is left out.
const MostLines = 8

// MostListed is how many entries of a list are shown; JSON has more.
const MostListed = 5

// First are the first MostLines of a list, a line of the page each. After them the page says how many are left out.
func First[T any](p *Page, all []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, one := range all[:min(len(all), MostLines)] {
			if !yield(one) {
				return
			}
		}
		p.Rest(MostLines, len(all))
	}
}

// Table draws rows under headers: the first column, and those in left, at the left,
// the others at the right.
func (p *Page) Table(headers []string, rows [][]string, left ...int) {
	leftCol := map[int]bool{0: true}
	for _, c := range left {
		leftCol[c] = true
	}
	if p.Options.Markdown {
		p.markdownTable(headers, rows, leftCol)
		return
	}
	for _, row := range rows {
		for i := range row {
			row[i] = p.plain(row[i])
		}
	}
	t := table.New().
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderHeader(false).BorderRow(false).Wrap(false).
		Headers(headers...).Rows(rows...).
		StyleFunc(func(row, col int) lipgloss.Style {
			style := lipgloss.NewStyle()
			if row == table.HeaderRow {
				style = p.Faint
			}
			if !leftCol[col] {
				style = style.Align(lipgloss.Right)
			}
			return style.PaddingLeft(2)
		})
	for _, l := range strings.Split(t.String(), "\n") {
		p.Line(l)
	}
}

// ColumnWidth is with the margin.
func ColumnWidth(headers []string, rows [][]string, col int) int {
	w := lipgloss.Width(headers[col])
	for _, row := range rows {
		w = max(w, lipgloss.Width(row[col]))
	}
	return w + 2
}

// Fitted draws a table as far as it fits: without its last columns where there is no room for them. A
// page that is drawn in place must have no line that the terminal breaks.
func (p *Page) Fitted(headers []string, rows [][]string, left ...int) {
	room, columns := p.Options.Width, 0
	for ; columns < len(headers); columns++ {
		if room -= ColumnWidth(headers, rows, columns); room < 0 {
			break
		}
	}
	p.Unfit = append(p.Unfit, headers[columns:]...)
	for i, row := range rows {
		rows[i] = row[:columns]
	}
	p.Table(headers[:columns], rows, slices.DeleteFunc(left, func(c int) bool { return c >= columns })...)
}

// FaintLine is a note.
func (p *Page) FaintLine(text string) { p.Para("  ", Clean(text), p.Faint) }

// TableWidth is how wide a table is drawn.
func TableWidth(headers []string, rows [][]string) (w int) {
	for column := range headers {
		w += ColumnWidth(headers, rows, column)
	}
	return w
}

// ShortenFirst shortens the first column to the room that the others leave.
func (p *Page) ShortenFirst(headers []string, table [][]string) { p.shorten(headers, table, 0) }

// ShortenLast shortens the last column to the room that the others leave.
func (p *Page) ShortenLast(headers []string, table [][]string) {
	p.shorten(headers, table, len(headers)-1)
}

func (p *Page) shorten(headers []string, table [][]string, column int) {
	others := TableWidth(headers, table) - ColumnWidth(headers, table, column)
	room := max(p.Options.Width-others-2, 1)
	for i, short := range p.ShortenAll(Column(table, column), room) {
		table[i][column] = short
	}
}

// Column is a column of a table.
func Column(table [][]string, column int) []string {
	cells := make([]string, len(table))
	for i, row := range table {
		cells[i] = row[column]
	}
	return cells
}

// More says how many entries a list of MostListed leaves out.
func (p *Page) More(count int) { p.Rest(MostListed, count) }

// Rest says how many entries of a list are left out where some are shown.
func (p *Page) Rest(shown, count int) {
	if count > shown {
		p.Line(p.Faint.Render(fmt.Sprintf("  and %d more", count-shown)))
	}
}
