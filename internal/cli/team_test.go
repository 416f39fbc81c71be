package cli

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonlap/moonlap/internal/store/storetest"
)

// startS3 is the script command `s3server`: S3-compatible storage with the bucket figures, which the environment names.
func startS3(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: s3server")
	}
	server, err := storetest.StartS3(ts.MkAbs(".s3"))
	ts.Check(err)
	ts.Defer(server.Stop)
	ts.Setenv("AWS_ENDPOINT_URL", server.Endpoint)
	ts.Setenv("AWS_ACCESS_KEY_ID", server.Key)
	ts.Setenv("AWS_SECRET_ACCESS_KEY", server.Secret)
}

// havePostgres reports whether there is a PostgreSQL to start. With MOONLAP_TEST_REQUIRE_ALL set there must be.
func havePostgres(t *testing.T) (bool, error) {
	err := storetest.FindPostgres()
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Logf("not tested: %v", err)
		return false, nil
	}
	return err == nil, err
}

// postgresServers are those that scripts have started, by their folder.
var postgresServers sync.Map

// startPostgres is the script command `postgres`: a server with an empty database, which the environment names as the index.
func startPostgres(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: postgres")
	}
	server, err := storetest.StartPostgres()
	ts.Check(err)
	ts.Defer(func() { ts.Check(server.Remove()) })
	ts.Check(server.Fresh())
	ts.Setenv("MOONLAP_INDEX", server.URL)
	ts.Setenv("PGPASSWORD", server.Password)
	postgresServers.Store(ts.Getenv("WORK"), server)
}

// askPostgres is the script command `sql QUERY ANSWER`, of the server that `postgres` has started.
func askPostgres(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql QUERY ANSWER")
	}
	server, _ := postgresServers.Load(ts.Getenv("WORK"))
	answer, err := server.(*storetest.Postgres).SQL("moonlap", args[0])
	if got := strings.TrimSpace(answer); err != nil || got != args[1] {
		ts.Check(errors.Join(err, errors.New(args[0]+": "+got+", not "+args[1])))
	}
}
