package ngxlua_test

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// TestPools: what cosockets keep, use and wait for, as Lua has made it.
func TestPools(t *testing.T) {
	w, client := watched(t)
	if got := w.Pools(); len(got) != 0 {
		t.Fatalf("before any cosocket: %+v", got)
	}
	path := filepath.Join(t.TempDir(), "s")
	server, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() { // keeps every connection open
		var all []net.Conn
		for {
			c, err := server.Accept()
			if err != nil {
				for _, c := range all {
					c.Close()
				}
				return
			}
			all = append(all, c)
		}
	}()
	nginxtest.Get(t, client, "/keep?to=unix:"+path) // two connections at once, kept in a pool of the default name
	nginxtest.Begin(t, client, "/hold?to=unix:"+path)
	nginxtest.Await(t, "pools", []ngxlua.Pool{
		{Name: "held", Size: 2, Idle: 0, Busy: 2, Waiting: 1},
		{Name: "unix:" + path, Size: 7, Idle: 2},
	}, func() ([]ngxlua.Pool, error) { return w.Pools(), nil })
}
