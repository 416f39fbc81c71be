package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/moonlap/moonlap/internal/record"
)

// A postgres is an index in PostgreSQL that several machines share. It has the tables of the index in SQLite, in a schema.
type postgres struct {
	url     *url.URL
	schema  string
	silence time.Duration
}

const schemaName = "moonlap" // where the URL has no search_path

// mark begins the text of what has the schema's version, a comment of the schema.
const mark = "moonlap's index of a history, version "

// SetIndex has the store use an index in PostgreSQL, postgres://USER@HOST/DATABASE, in place of the file. What the URL does not say the
// variables of PostgreSQL's own programs do, PGPASSWORD and others. While the server cannot be used, the file is the index.
func (s *Store) SetIndex(place string) error {
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("an index is a URL such as postgres://USER@HOST/DATABASE") // and may have a password, which is not said
	}
	p := &postgres{url: u, schema: schemaName, silence: silence}
	if name := u.Query().Get("search_path"); name != "" {
		p.schema = name
	}
	s.index = p
	return nil
}

// Schema is what makes the tables of an index in PostgreSQL, for who must not make them.
func (s *Store) Schema() string {
	schema := schemaName
	if s.index != nil {
		schema = s.index.schema
	}
	return "BEGIN;\n" + sharedTables(schema) + "COMMIT;\n"
}

// sharedTables are those of the index in SQLite, as PostgreSQL has them. Names sort by their bytes.
func sharedTables(schema string) string {
	changed := strings.NewReplacer(" STRICT, WITHOUT ROWID", "", "TEXT", `text COLLATE "C"`, "INTEGER", "bigint", "REAL", "double precision",
		"dirty    INTEGER", "dirty    boolean").Replace(tables)
	quoted := pq.QuoteIdentifier(schema)
	return fmt.Sprintf("CREATE SCHEMA IF NOT EXISTS %s;\nSET LOCAL search_path = %s;\n%sCOMMENT ON SCHEMA %s IS %s;\n",
		quoted, quoted, strings.TrimPrefix(changed, "\n"), quoted, pq.QuoteLiteral(fmt.Sprint(mark, schemaVersion)))
}

func (p *postgres) Dial(network, address string) (net.Conn, error) {
	return p.DialContext(context.Background(), network, address)
}

func (p *postgres) DialTimeout(network, address string, _ time.Duration) (net.Conn, error) {
	return p.DialContext(context.Background(), network, address)
}

// DialContext connects to the server, which must not be silent for long.
func (p *postgres) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return dial(ctx, network, address, p.silence)
}

// connect opens the index, and makes its tables where there are none.
func (p *postgres) connect(ctx context.Context) (*sql.DB, error) {
	u := *p.url
	query := u.Query()
	query.Set("search_path", pq.QuoteIdentifier(p.schema))
	if query.Get("application_name") == "" {
		query.Set("application_name", "moonlap")
	}
	u.RawQuery = query.Encode()
	connector, err := pq.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	connector.Dialer(p)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1) // as in SQLite's
	if err := p.prepare(ctx, db); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// prepare makes the tables where there are none, or those of an older moonlap.
func (p *postgres) prepare(ctx context.Context, db *sql.DB) error {
	if current, err := p.isCurrent(ctx, db); err != nil || current {
		return err
	}
	return inTransaction(db, func(tx *sql.Tx) error {
		if err := lockShared(tx); err != nil {
			return err
		}
		if current, err := p.isCurrent(ctx, tx); err != nil || current { // another moonlap was quicker
			return err
		}
		return p.create(tx)
	})
}

// create makes the tables, in place of those that are there.
func (p *postgres) create(tx *sql.Tx) error {
	quoted := pq.QuoteIdentifier(p.schema)
	_, err := tx.Exec(fmt.Sprintf("DROP TABLE IF EXISTS %[1]s.cases, %[1]s.settings, %[1]s.runs;", quoted) + sharedTables(p.schema))
	return err
}

// A contextQueryer is a database or a transaction.
type contextQueryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (p *postgres) isCurrent(ctx context.Context, db contextQueryer) (bool, error) {
	var about sql.NullString
	err := db.QueryRowContext(ctx, "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = $1", p.schema).Scan(&about)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	var version, others int
	if n, _ := fmt.Sscanf(strings.TrimPrefix(about.String, mark), "%d", &version); n == 1 && strings.HasPrefix(about.String, mark) {
		if version > schemaVersion {
			return false, errNewer
		}
		return version == schemaVersion, nil
	}
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1", p.schema).Scan(&others)
	if err == nil && others > 0 {
		err = fmt.Errorf("%w: schema %s has other tables", errForeign, p.schema)
	}
	return false, err
}

// lockShared lets one writer at a time into the index. Those of an index wait for each other as those of a file do.
func lockShared(tx *sql.Tx) error {
	_, err := tx.Exec("SET LOCAL lock_timeout = '5s'")
	if err == nil {
		_, err = tx.Exec("SELECT pg_advisory_xact_lock(hashtextextended('moonlap ' || current_setting('search_path'), 0))")
	}
	return err
}

// openShared opens the index in PostgreSQL, and reads what records it knows, before the place of the records is asked: what another
// machine adds in between is then not taken for gone.
func (s *Store) openShared(ctx context.Context) (*index, map[string]bool, error) {
	db, err := s.index.connect(ctx)
	if err != nil {
		return nil, nil, s.index.fault(err)
	}
	known, err := column(db, "SELECT record FROM runs")
	if err != nil {
		db.Close()
		return nil, nil, s.index.fault(err)
	}
	return &index{DB: db, shared: true}, known, nil
}

// alignShared brings the index in PostgreSQL in line with the records. It is refused where all that it knows would go: that is
// the index of another history.
func (s *Store) alignShared(ctx context.Context, x *index, known map[string]bool) error {
	present, err := s.records()
	if err != nil {
		return err
	}
	foreign := len(known) > 0
	for name := range known {
		foreign = foreign && !present[name]
	}
	if foreign {
		return fmt.Errorf("it has %d runs, none of which is in %s: is it of another history? Name another schema with ?search_path=NAME, or 'moonlap history --rebuild' makes it this one's",
			len(known), s.place())
	}
	return s.index.fault(s.align(ctx, x, known))
}

// rebuildShared makes the index in PostgreSQL again.
func (s *Store) rebuildShared(ctx context.Context) error {
	db, err := s.index.connect(ctx)
	if err == nil {
		defer db.Close()
		err = inTransaction(db, func(tx *sql.Tx) error { return errors.Join(lockShared(tx), s.index.create(tx)) })
	}
	if err == nil {
		err = s.align(ctx, &index{DB: db, shared: true}, map[string]bool{})
	}
	return s.index.fault(err)
}

// fault says what is wrong with the server, and the remedy. The password is not in it.
func (p *postgres) fault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	shown := url.URL{Scheme: p.url.Scheme, Host: p.url.Host, Path: p.url.Path, User: url.User(p.url.User.Username())}
	if p.url.User == nil {
		shown.User = nil
	}
	var said *pq.Error
	var timeout net.Error
	advice := ""
	switch {
	case errors.Is(err, pq.ErrSSLNotSupported):
		advice = "; ?sslmode=disable does without TLS, on a network that you trust"
	case errors.As(err, &said):
		switch said.Code {
		case "28P01", "28000":
			advice = "; see PGUSER and PGPASSWORD"
		case "3D000":
			advice = "; make it with createdb"
		case "42501", "42P01": // a schema that one must not use is as if it were not there
			advice = fmt.Sprintf("; who may can run what 'moonlap history --print-schema' prints, and grant the rights to schema %s", p.schema)
		case "55P03":
			advice = "; another program has locked it: try again when that has ended"
		}
	case errors.As(err, &timeout) && timeout.Timeout():
		advice = fmt.Sprintf("; nothing was heard of the server for %v", p.silence)
	case errors.Is(err, errNewer):
		advice = "; use that moonlap, or another schema with ?search_path=NAME"
	case errors.Is(err, errForeign):
		advice = "; name another one with ?search_path=NAME"
	}
	return fmt.Errorf("the index at %s: %w%s", shown.String(), err, advice)
}

// readNew reads a record that the index knows. Where another machine has added it since the copy was made, the copy is made again.
func (s *Store) readNew(ctx context.Context, name string) (*record.Record, error) {
	rec, err := s.ReadRecord(name)
	if s.index == nil || s.Remote == nil || !errors.Is(err, fs.ErrNotExist) {
		return rec, err
	}
	release, err := s.await(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := s.exchange(ctx); err != nil {
		return nil, err
	}
	return s.ReadRecord(name)
}
