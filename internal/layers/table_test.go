package layers

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A table maps each Go room, a path from the module's root, to the rooms it may import.
type table map[string][]string

var quoted = regexp.MustCompile("`([^`]+)`")

// readTable returns the rooms of docs/architecture.md.
func readTable(t *testing.T) table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := parseTable(string(text))
	if err != nil {
		t.Fatalf("docs/architecture.md: %v", err)
	}
	return rooms
}

// parseTable reads the Markdown table headed "room | job | may import". The last cell is
// "nothing", "every room", or room names in backquotes, those under internal/ by their
// last part. A room whose cell says "LuaJIT" is Lua's: lua_test.go looks after it.
func parseTable(markdown string) (table, error) {
	cells := map[string]string{}
	var inside bool
	for line := range strings.Lines(markdown) {
		fields := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case len(fields) != 3 || !strings.HasPrefix(line, "|"):
			inside = false
		case strings.TrimSpace(fields[0]) == "room" && strings.TrimSpace(fields[2]) == "may import":
			inside = true
		case inside && !strings.Contains(fields[0], "---") && !strings.Contains(fields[2], "LuaJIT"):
			room := quoted.FindStringSubmatch(fields[0])
			if room == nil {
				return nil, fmt.Errorf("no room in backquotes in %q", line)
			}
			cells[room[1]] = strings.TrimSpace(fields[2])
		}
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("no table headed 'room | job | may import'")
	}

	rooms := table{}
	for room, cell := range cells {
		rooms[room] = nil
		switch cell {
		case "nothing":
			continue
		case "every room":
			for other := range cells {
				if other != room {
					rooms[room] = append(rooms[room], other)
				}
			}
			continue
		}
		names := quoted.FindAllStringSubmatch(cell, -1)
		if names == nil {
			return nil, fmt.Errorf("room %s: cannot read %q", room, cell)
		}
		for _, name := range names {
			other := name[1]
			if _, ok := cells[other]; !ok {
				other = "internal/" + other
			}
			if _, ok := cells[other]; !ok {
				return nil, fmt.Errorf("room %s may import %s, which is no room of the table", room, name[1])
			}
			rooms[room] = append(rooms[room], other)
		}
	}
	return rooms, nil
}

// of returns the room that a package belongs to: itself or the nearest folder above it
// that the table names. A package of no room is a room of its own that may import nothing.
func (rooms table) of(pkg string) string {
	for dir := pkg; dir != "."; dir = filepath.Dir(dir) {
		if _, ok := rooms[dir]; ok {
			return dir
		}
	}
	return pkg
}

func TestParseTable(t *testing.T) {
	const head = "| room | job | may import |\n| --- | --- | --- |\n"
	rooms, err := parseTable("text | with | bars\n\n" + head +
		"| `cmd/x` | main | `cli` |\n| `internal/cli` | all | every room |\n" +
		"| `lap` | library | nothing |\n| `lua/x` | Lua | itself and LuaJIT |\n\n" +
		"| other | table | here |\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rooms["cmd/x"], rooms["lap"], len(rooms["internal/cli"]), len(rooms)); got != "[internal/cli] [] 2 3" {
		t.Errorf("rooms = %s: %v", got, rooms)
	}
	for pkg, want := range map[string]string{"lap/laptest": "lap", "lap": "lap", "internal/new": "internal/new"} {
		if got := rooms.of(pkg); got != want {
			t.Errorf("of(%q) = %q, want %q", pkg, got, want)
		}
	}
	for _, bad := range []string{"", head, head + "| `lap` | x | what it likes |\n", head + "| `lap` | x | `cellar` |\n", head + "| lap | x | nothing |\n"} {
		if rooms, err := parseTable(bad); err == nil {
			t.Errorf("parseTable(%q) = %v, want an error", bad, rooms)
		}
	}
}
