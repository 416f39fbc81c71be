package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/store/storetest"
)

// startPostgres starts a server, whose password is in the environment of the test.
func startPostgres(t *testing.T) *storetest.Postgres {
	t.Helper()
	server, err := storetest.StartPostgres()
	if errors.Is(err, storetest.ErrNoPostgres) && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Remove(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("PGPASSWORD", server.Password)
	return server
}

// indexedBy is the store of a machine of its own, whose index is in PostgreSQL. It gives a server up after two seconds.
func indexedBy(t *testing.T, place, url string) (s *Store, said *bytes.Buffer) {
	t.Helper()
	s, said = at(t, place), &bytes.Buffer{}
	s.Note = func(text string) { fmt.Fprintln(said, text) }
	if err := s.SetIndex(url); err != nil {
		t.Fatal(err)
	}
	s.index.silence = 2 * time.Second
	return s, said
}

// TestPostgres has one server, which takes a second to start.
func TestPostgres(t *testing.T) {
	server := startPostgres(t)
	for name, test := range map[string]func(*testing.T, *storetest.Postgres){
		"figures": followsRecords, "writers": losesNothing, "away": maybeAway, "refuses": refuses, "schema": schemaOfOthers,
	} {
		if err := server.Fresh(); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
}

func inIndex(t *testing.T, p *storetest.Postgres, query string) string {
	t.Helper()
	out, err := p.SQL("moonlap", query)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// followsRecords: what follows from the index in PostgreSQL is what follows from the file. It is made on first use, follows the records, and
// can be made again.
func followsRecords(t *testing.T, server *storetest.Postgres) {
	shared := t.TempDir() + "/shared/"
	a, said := indexedBy(t, shared, server.URL)
	b, _ := indexedBy(t, shared, server.URL)
	alone := at(t, shared)
	keep(t, a, aRun)
	keep(t, b, made{name: "main", file: "b.lua", at: 2, commit: "abc", cases: map[string]float64{"concat": 200, "Zu\x00 ä": 3, "none": 0}})
	keep(t, a, made{name: "trial", at: 3, cases: map[string]float64{"concat": 100}, governor: "powersave"})
	if got := inIndex(t, server, "SELECT count(*) FROM moonlap.runs"); got != "3" {
		t.Errorf("%s runs", got)
	}
	for _, name := range []string{"", "concat"} {
		want, err := alone.History(background, name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.History(background, name); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v %s", err, cmp.Diff(want, got))
		}
	}
	if rec, err := b.Baseline(background, "main", "app.lua", "bench"); err != nil || rec.Run.SavedAs != "main" {
		t.Errorf("%v", err)
	}
	if _, err := b.Baseline(background, "main", "other.lua", "bench"); err == nil || !strings.Contains(err.Error(), "but of app.lua, b.lua") {
		t.Errorf("%v", err)
	}
	if n, err := b.Delete(background, "trial"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	inIndex(t, server, "DELETE FROM moonlap.runs WHERE file = 'app.lua'; UPDATE moonlap.cases SET ns = 7")
	if n, err := a.Rebuild(background); n != 2 || err != nil {
		t.Errorf("made again: %d, %v", n, err)
	}
	if got := inIndex(t, server, "SELECT count(*), count(ns), min(ns) > 2 FROM moonlap.cases WHERE ns <> 7 OR ns IS NULL"); got != "4|3|t" {
		t.Errorf("%s", got)
	}
	if said.Len() > 0 {
		t.Errorf("%s", said)
	}
}

// losesNothing: machines that save at the same moment, into an index that none has made, all come into it.
func losesNothing(t *testing.T, server *storetest.Postgres) {
	const machines, runs = 5, 3
	shared := t.TempDir() + "/shared/"
	var writers sync.WaitGroup
	for i := range machines {
		s, said := indexedBy(t, shared, server.URL)
		writers.Go(func() {
			for j := range runs {
				m := made{name: "main", file: "app.lua", at: i*runs + j, cases: map[string]float64{"concat": 100, "b": 1, "c": 2}}
				if _, err := s.Keep(background, m.draft(t)); err != nil {
					t.Error(err)
				}
			}
			if said.Len() > 0 {
				t.Errorf("%s", said)
			}
		})
	}
	writers.Wait()
	if got := inIndex(t, server, "SELECT count(*), (SELECT count(*) FROM moonlap.cases) FROM moonlap.runs"); got != fmt.Sprintf("%d|%d", machines*runs, 3*machines*runs) {
		t.Errorf("%s", got)
	}
}

// maybeAway: while the server is away, hangs or is locked, the file is the index; what was saved meanwhile enters PostgreSQL's later.
func maybeAway(t *testing.T, server *storetest.Postgres) {
	s, said := indexedBy(t, t.TempDir()+"/shared/", server.URL)
	keep(t, s, aRun)
	heard := func(what, want string) {
		t.Helper()
		if got := points(t, s); len(got) == 0 {
			t.Errorf("%s: %v", what, got)
		}
		if !strings.Contains(said.String(), want) || !strings.Contains(said.String(), "The index of this machine is used") || strings.Contains(said.String(), "printed") {
			t.Errorf("%s: %s", what, said)
		}
		said.Reset()
	}
	server.Stop()
	keep(t, s, made{name: "main", file: "app.lua", at: 2, cases: map[string]float64{"concat": 200}})
	heard("away", "connection refused")
	if _, err := s.Rebuild(background); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if got := points(t, s); len(got) != 2 || said.Len() > 0 {
		t.Errorf("when it is back: %v, %s", got, said)
	}
	server.Signal(syscall.SIGSTOP)
	heard("hanging", "nothing was heard of the server for 2s")
	server.Signal(syscall.SIGCONT)
	if got := inIndex(t, server, "SELECT count(*) FROM moonlap.runs"); got != "2" {
		t.Errorf("%s runs", got)
	}
}

// refuses: each reason why the index cannot be used is named, with what to do, and without the password.
func refuses(t *testing.T, server *storetest.Postgres) {
	shared := t.TempDir() + "/shared/"
	first, _ := indexedBy(t, shared, server.URL)
	keep(t, first, aRun)
	inIndex(t, server, `CREATE ROLE reader LOGIN PASSWORD 'not-to-be-printed'; CREATE SCHEMA newer; COMMENT ON SCHEMA newer IS 'moonlap''s index of a history, version 99';
		CREATE SCHEMA shop; CREATE TABLE shop.runs (x int); CREATE SCHEMA older AUTHORIZATION team; COMMENT ON SCHEMA older IS 'moonlap''s index of a history, version 1';
		SET ROLE team; CREATE TABLE older.runs (x int)`)
	as := func(from, to string) string { return strings.Replace(server.URL, from, to, 1) }
	tests := map[string]struct{ url, want string }{
		"user":     {as("team@", "nobody@"), "see PGUSER and PGPASSWORD"},
		"password": {as("team@", "team:printed@"), "password authentication failed for user \"team\" (28P01); see PGUSER and PGPASSWORD"},
		"database": {as("/moonlap", "/none"), `database "none" does not exist (3D000); make it with createdb`},
		"TLS":      {as("?sslmode=disable", ""), "?sslmode=disable does without TLS"},
		"rights":   {as("team@", "reader@"), "'moonlap history --print-schema' prints, and grant the rights to schema moonlap"},
		"newer":    {server.URL + "&search_path=newer", "it was written by a newer moonlap; use that moonlap"},
		"foreign":  {server.URL + "&search_path=shop", "schema shop has other tables; name another one with ?search_path=NAME"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, said := indexedBy(t, shared, test.url)
			if got := points(t, s); len(got) != 1 {
				t.Errorf("%v", got)
			}
			if !strings.Contains(said.String(), "the index at postgres://") || !strings.Contains(said.String(), test.want) || strings.Contains(said.String(), "printed") {
				t.Errorf("%s\nwant %q", said, test.want)
			}
		})
	}
	s, said := indexedBy(t, shared, server.URL+"&search_path=older")
	if got := points(t, s); len(got) != 1 || said.Len() > 0 {
		t.Errorf("an older one: %v, %s", got, said)
	}
	// Another history's index is left alone, unless that is asked for.
	another, said := indexedBy(t, t.TempDir()+"/other/", server.URL)
	keep(t, another, made{name: "x", at: 9, cases: map[string]float64{"concat": 9}})
	if got := inIndex(t, server, "SELECT name FROM moonlap.runs"); got != "main" || !strings.Contains(said.String(), "none of which is in ") {
		t.Errorf("%s, %s", got, said)
	}
	if n, err := another.Rebuild(background); n != 1 || err != nil || inIndex(t, server, "SELECT name FROM moonlap.runs") != "x" {
		t.Errorf("%d, %v", n, err)
	}
	for _, url := range []string{"", "mysql://h/x", "postgres:\x00", "me:printed@h"} {
		if err := s.SetIndex(url); err == nil || strings.Contains(err.Error(), "printed") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// schemaOfOthers: who must not make tables has somebody run what is printed.
func schemaOfOthers(t *testing.T, server *storetest.Postgres) {
	s, said := indexedBy(t, filepath.Join(t.TempDir(), "history.db"), server.URL+"&search_path=Our+figures")
	inIndex(t, server, "REVOKE CREATE ON DATABASE moonlap FROM team; ALTER DATABASE moonlap OWNER TO postgres;"+s.Schema()+
		`GRANT USAGE ON SCHEMA "Our figures" TO team; GRANT SELECT, INSERT, DELETE ON ALL TABLES IN SCHEMA "Our figures" TO team`)
	keep(t, s, aRun)
	if got := inIndex(t, server, `SELECT count(*) FROM "Our figures".runs`); got != "1" || said.Len() > 0 {
		t.Errorf("%s, %s", got, said)
	}
}
