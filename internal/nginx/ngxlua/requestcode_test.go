package ngxlua_test

import (
	"net/http"
	"testing"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// TestReadCode: the machine code tells the same place of a request's texts as a request that is seen.
func TestReadCode(t *testing.T) {
	pid, client := startNginx(t, "", "")
	w := workertest.Open(t, pid)
	known := w.URI()
	if known == 0 {
		t.Fatal("the code was not understood; the first request would tell")
	}
	back := w.Relearn()
	defer nginxtest.Request(t, client, "/asleep")()
	nginxtest.Await(t, "the place of a URI", known, func() (uint64, error) {
		_, err := w.InFlight()
		return w.URI(), err
	})
	back()
	nginxtest.Await(t, "a request", ngxlua.InFlight{Method: http.MethodGet, URI: "/asleep"}, func() (ngxlua.InFlight, error) {
		all, err := w.InFlight()
		for _, f := range all {
			if f.URI != "" {
				return ngxlua.InFlight{Method: f.Method, URI: f.URI}, err
			}
		}
		return ngxlua.InFlight{}, err
	})
}
