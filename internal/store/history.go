package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/changepoints"
	"github.com/moonlap/moonlap/internal/stat/quiet"
)

// History returns what is known, or, with a case, of that case alone. Series of a case
// under different settings, or from different bench files, stand apart. A case that is
// not known is an error that names those that are.
func (s *Store) History(ctx context.Context, name string) (*record.History, error) {
	h := &record.History{Schema: record.Schema, Kind: "history", Names: []record.SavedName{}, Series: []record.Series{}}
	err := s.read(ctx, func(db *index) error {
		var err error
		if h.Names, err = savedNames(db); err != nil {
			return err
		}
		h.Series, err = series(db, name)
		if err == nil && len(h.Series) == 0 && name != "" {
			var cases map[string]bool
			if cases, err = column(db, "SELECT DISTINCT name FROM cases"); err == nil {
				err = unknown("case", name, keys(cases))
			}
		}
		return err
	})
	return h, err
}

// read opens the index for one piece of work.
func (s *Store) read(ctx context.Context, work func(*index) error) error {
	if err := s.exists(); err != nil {
		return err
	}
	db, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if db.away {
		if known, err := column(db, "SELECT record FROM runs LIMIT 1"); err == nil && len(known) == 0 {
			return fmt.Errorf("nothing is known here of what %s holds: see above why it cannot be reached", s.place())
		}
	}
	return s.fault(work(db))
}

// An UnknownError says that the history holds nothing of that name.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }

func unknown(what, name string, there []string) error {
	text := fmt.Sprintf("the history has no %s %q", what, name)
	if len(there) > 0 {
		text += "; it has " + some(there)
	}
	return &UnknownError{text}
}

// savedNames lists the names, the newest first.
func savedNames(db queryer) ([]record.SavedName, error) {
	rows, err := db.Query(`SELECT name, count(*), max(started) FROM runs GROUP BY name ORDER BY max(started) DESC, name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := []record.SavedName{}
	for rows.Next() {
		var n record.SavedName
		if err := rows.Scan(&n.Name, &n.Runs, &n.Last); err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close() // there is one connection
	for i, n := range names {
		files, err := column(db, "SELECT DISTINCT file FROM runs WHERE name = $1 AND file <> ''", n.Name)
		if err != nil {
			return nil, err
		}
		names[i].Files = slices.AppendSeq([]string{}, slices.Values(keys(files)))
	}
	return names, nil
}

// series reads the points in order of time and cuts them into series.
func series(db queryer, name string) ([]record.Series, error) {
	rows, err := db.Query(`SELECT cases.name, runs.file, runs.kind, settings.id, settings.facts,
			runs.started, runs.commit_, runs.dirty, runs.name, runs.record, runs.yardsticks, ns, low, high, processes, slowed
		FROM cases JOIN runs USING (record) JOIN settings ON settings.id = cases.setting
		WHERE $1 IN ('', cases.name)
		ORDER BY cases.name, runs.file, runs.kind, settings.id, runs.started, runs.record`, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []record.Series{}
	last := ""
	for rows.Next() {
		var s record.Series
		var p record.Point
		var id, facts, yardsticks string
		var ns, low, high sql.NullFloat64
		if err := rows.Scan(&s.Case, &s.File, &s.Kind, &id, &facts, &p.Started, &p.Commit, &p.Dirty,
			&p.SavedAs, &p.Record, &yardsticks, &ns, &low, &high, &p.Processes, &p.Slowed); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(yardsticks), &p.Yardsticks); err != nil {
			return nil, err
		}
		if key := strings.Join([]string{s.Case, s.File, s.Kind, id}, "\x00"); key != last || len(list) == 0 {
			last = key
			if err := json.Unmarshal([]byte(facts), &s.Setting); err != nil {
				return nil, err
			}
			list = append(list, s)
		}
		if ns.Valid {
			p.NSPerCall = &record.Interval{Estimate: ns.Float64, Low: low.Float64, High: high.Float64}
		}
		list[len(list)-1].Points = append(list[len(list)-1].Points, p)
	}
	for i := range list {
		allowForSpeed(list[i].Points)
		list[i].Steps = steps(list[i].Points)
	}
	// Of one case, the series that has the newest run comes first.
	slices.SortStableFunc(list, func(a, b record.Series) int {
		if a.Case != b.Case || a.File != b.File {
			return 0
		}
		return strings.Compare(b.Points[len(b.Points)-1].Started, a.Points[len(a.Points)-1].Started)
	})
	return list, rows.Err()
}

// allowForSpeed notes of points whose run knew of no better moment than a slow one: another run of the series saw the
// machine faster. It may have moved to a slower host since, or never had a quiet moment. Of the bests of all runs the second
// counts, so that one whose clock was wrong says nothing.
func allowForSpeed(points []record.Point) {
	bests := map[string][]float64{}
	for _, p := range points {
		for kind, ns := range p.Yardsticks {
			if ns > 0 {
				bests[kind] = append(bests[kind], ns)
			}
		}
	}
	slower := make([]float64, len(points))
	for kind, all := range bests {
		slices.Sort(all)
		best := all[min(1, len(all)-1)]
		for i, p := range points {
			slower[i] = max(slower[i], p.Yardsticks[kind]/best-1)
		}
	}
	for i, by := range slower {
		if by > quiet.SameSpeed {
			points[i].Slowed = (1+points[i].Slowed)*(1+by) - 1
		}
	}
}

// steps finds the steps among the points that have a figure.
func steps(points []record.Point) []record.Step {
	var figures []changepoints.Figure
	var at []int
	for i, p := range points {
		if p.NSPerCall != nil {
			figures = append(figures, changepoints.Figure{Interval: *p.NSPerCall, Slowed: p.Slowed})
			at = append(at, i)
		}
	}
	found := changepoints.Steps(figures)
	for i := range found {
		found[i].At = at[found[i].At]
	}
	return found
}

// aDay is more than time zones and clocks that drift explain.
const aDay = 24 * time.Hour

// Baseline returns the newest record of a kind and a file that was saved under a name; file
// is "" for code of the command line. Without one the error names what there is.
func (s *Store) Baseline(ctx context.Context, name, file, kind string) (*record.Record, error) {
	var rec *record.Record
	err := s.read(ctx, func(db *index) error {
		var newest, started string
		err := db.QueryRow(`SELECT record, started FROM runs WHERE name = $1 AND file = $2 AND kind = $3
			ORDER BY started DESC, record DESC LIMIT 1`, name, fileName(file), kind).Scan(&newest, &started)
		if err == sql.ErrNoRows {
			return noBaseline(db, name, file, kind)
		}
		if err != nil {
			return err
		}
		if at, bad := time.Parse(time.RFC3339, started); bad == nil && time.Until(at) > aDay {
			s.note("the newest run of %s is of %s, which is to come: a clock is wrong, there or here. 'moonlap history --delete' removes the runs of a name", name, started)
		}
		rec, err = s.readNew(ctx, newest)
		return err
	})
	return rec, err
}

func noBaseline(db queryer, name, file, kind string) error {
	names, err := column(db, "SELECT DISTINCT name FROM runs")
	switch {
	case err != nil:
		return err
	case !names[name]:
		return unknown("baseline", name, keys(names))
	case file == "":
		return &UnknownError{fmt.Sprintf("the baseline %q has no run of -e CODE; make one with --save %s", name, name)}
	}
	files, err := column(db, "SELECT DISTINCT file FROM runs WHERE name = $1 AND file <> '' AND kind = $2", name, kind)
	if err != nil {
		return err
	}
	but := ""
	if len(files) > 0 {
		but = ", but of " + strings.Join(keys(files), ", ")
	}
	return &UnknownError{fmt.Sprintf("the baseline %q has no run of %s%s; make one with --save %s", name, fileName(file), but, name)}
}

// Delete removes all runs that were saved under a name, and tells how many they were.
func (s *Store) Delete(ctx context.Context, name string) (runs int, err error) {
	err = s.read(ctx, func(db *index) error {
		records, err := column(db, "SELECT record FROM runs WHERE name = $1", name)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			names, err := column(db, "SELECT DISTINCT name FROM runs")
			if err != nil {
				return err
			}
			return unknown("name", name, keys(names))
		}
		if s.Remote != nil {
			release, err := s.await(ctx)
			if err != nil {
				return err
			}
			defer release()
			if err := s.Remote.Send(ctx, nil, keys(records)); err != nil {
				return fmt.Errorf("nothing is deleted: %w", err)
			}
		}
		for r := range records {
			if err := os.Remove(filepath.Join(s.folder(), r)); err != nil && !os.IsNotExist(err) {
				return err
			}
			runs++
		}
		told := *s
		told.Note = nil // that they are gone is what was asked for
		return told.sync(ctx, db)
	})
	return runs, err
}
