package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/toplines"
	"github.com/moonlap/moonlap/internal/ui"
)

// Live shows intervals on a terminal, in a page that is scrolled, sorted and opened by keys, until q or Ctrl-C.
func (a *Watching) Live(ctx context.Context, in io.Reader, out io.Writer, opt ui.Options) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	program := tea.NewProgram(live{options: opt, recent: map[int][]*toplines.Result{}}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	a.Show = func(s Snapshot) error {
		program.Send(s)
		return nil
	}
	ended := make(chan error, 1)
	go func() {
		err := a.Run(watching)
		program.Quit()
		ended <- err
	}()
	_, err := program.Run()
	stop()
	why := <-ended
	switch {
	case errors.Is(err, tea.ErrInterrupted):
		return context.Canceled
	case ctx.Err() != nil:
		return ctx.Err()
	case why != nil && !errors.Is(why, context.Canceled):
		return why
	}
	return err
}

// live is the page at a terminal: the last interval, and what of it is looked at.
type live struct {
	options       ui.Options
	width, height int
	snapshot      *Snapshot // nil: the first interval goes on
	paused        bool
	order         int // of workers, by orders
	opened        int // process ID of the worker that alone is shown; 0: all are
	top           int // line that is shown first

	recent map[int][]*toplines.Result // Lua lines of the last intervals, by the master's process ID
}

// orders are what workers are sorted by, the largest first.
var orders = []struct {
	name string
	of   func(Row) float64
}{
	{"process ID", func(r Row) float64 { return -float64(r.PID) }},
	{"CPU", func(r Row) float64 { return r.CPU }},
	{"Lua", func(r Row) float64 { return r.Lua }},
	{"heap", func(r Row) float64 { return float64(r.Heap) }},
	{"oldest request", func(r Row) float64 {
		q, ok := r.Evidence[requests.Name].(*requests.Result)
		if !ok {
			return 0
		}
		return float64(q.Age())
	}},
	{"longest wait", func(r Row) float64 {
		if r.Loop == nil {
			return 0
		}
		return float64(r.Loop.Most)
	}},
}

// Init has nothing to begin with.
func (m live) Init() tea.Cmd { return nil }

// Update takes in an interval, a key, or another size of the window.
func (m live) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.options.Width = msg.Width
	case Snapshot:
		if !m.paused {
			m.snapshot = m.withRecentLines(msg)
		}
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m.scrolled(0), nil
}

// withRecentLines is an interval whose Lua lines are those of the last ones, too, where it has few samples of its own.
func (m live) withRecentLines(s Snapshot) *Snapshot {
	s.Masters = slices.Clone(s.Masters)
	for i, master := range s.Masters {
		if now, ok := master.Evidence[toplines.Name].(*toplines.Result); ok {
			sum, kept := toplines.Recent(append(m.recent[master.PID], now))
			m.recent[master.PID] = kept
			s.Masters[i].Evidence = maps.Clone(master.Evidence)
			s.Masters[i].Evidence[toplines.Name] = sum
		}
	}
	return &s
}

func (m live) key(key string) (tea.Model, tea.Cmd) {
	page := max(1, m.height-2)
	switch key {
	case "q":
		return m, tea.Quit
	case "ctrl+c":
		return m, tea.Interrupt
	case "down", "j":
		return m.scrolled(1), nil
	case "up", "k":
		return m.scrolled(-1), nil
	case "pgdown", "space", " ":
		return m.scrolled(page), nil
	case "pgup", "b":
		return m.scrolled(-page), nil
	case "home", "g":
		m.top = 0
	case "end", "G":
		return m.scrolled(1 << 20), nil
	case "s":
		m.order, m.top = (m.order+1)%len(orders), 0
	case "p":
		m.paused = !m.paused
	case "tab", "enter":
		m.opened, m.top = m.next(1), 0
	case "shift+tab":
		m.opened, m.top = m.next(-1), 0
	case "esc", "a":
		m.opened, m.top = 0, 0
	}
	return m, nil
}

// sorted are the workers in the order that was chosen.
func (m live) sorted() []Row {
	if m.snapshot == nil {
		return nil
	}
	rows, of := slices.Clone(m.snapshot.Workers), orders[m.order].of
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(of(b), of(a)) })
	return rows
}

// next is the worker after the one that is open, or before it; after the last one come all.
func (m live) next(step int) int {
	pids := []int{0}
	for _, r := range m.sorted() {
		pids = append(pids, r.PID)
	}
	at := max(0, slices.Index(pids, m.opened))
	return pids[(at+step+len(pids))%len(pids)]
}

func (m live) scrolled(by int) live {
	m.top = max(0, min(m.top+by, len(m.lines())-(m.height-1)))
	return m
}

// lines is the whole page.
func (m live) lines() []string {
	if m.snapshot == nil {
		return []string{"moonlap watch: the first interval goes on"}
	}
	s := *m.snapshot
	s.Workers = m.sorted()
	if m.opened != 0 {
		s.Workers = slices.DeleteFunc(s.Workers, func(r Row) bool { return r.PID != m.opened })
		s.Masters = slices.DeleteFunc(slices.Clone(s.Masters), func(master Master) bool {
			return !slices.ContainsFunc(s.Workers, func(r Row) bool { return r.Master == master.PID })
		})
	}
	if len(s.Workers) == 0 {
		return []string{fmt.Sprintf("worker %d is gone; esc shows all", m.opened)}
	}
	var b strings.Builder
	if err := Draw(&b, s, s.At.Local(), m.options); err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// View is what of the page fits the window, and the keys.
func (m live) View() tea.View {
	lines := m.lines()
	room := max(1, m.height-1)
	end := min(m.top+room, len(lines))
	var b strings.Builder
	for _, line := range lines[min(m.top, end):end] {
		b.WriteString(ansi.Truncate(line, m.width, "…") + "\n")
	}
	b.WriteString(strings.Repeat("\n", max(0, room-(end-m.top))))
	keys := "q quit  s sort: " + orders[m.order].name + "  tab worker  p pause"
	if m.opened != 0 {
		keys = "q quit  esc all  tab next worker  p pause"
	}
	if m.paused {
		keys += "d"
	}
	if more := len(lines) - end; more > 0 || m.top > 0 {
		keys = fmt.Sprintf("↑↓ %d more lines  ", more) + keys
	}
	b.WriteString(ansi.Truncate("\x1b[7m"+keys+"\x1b[m", m.width, "…"))
	v := tea.NewView(b.String())
	v.AltScreen = true
	return v
}
