package worker

import (
	"net/http"
	"testing"

	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// TestReadCode: the machine code tells the same place of a request's texts as a request that is seen.
func TestReadCode(t *testing.T) {
	pid, client := nginx(t)
	w := open(t, pid)
	known := w.request
	if known.uri == 0 {
		t.Fatal("the code was not understood; the first request would tell")
	}
	w.request = requestLayout{}
	defer nginxtest.Request(t, client, "/asleep")()
	await(t, "the place of a URI", known.uri, func() (uint64, error) {
		_, err := w.InFlight()
		return w.request.uri, err
	})
	w.request = known
	await(t, "a request", InFlight{Method: http.MethodGet, URI: "/asleep"}, func() (InFlight, error) {
		all, err := w.InFlight()
		for _, f := range all {
			if f.URI != "" {
				return InFlight{Method: f.Method, URI: f.URI}, err
			}
		}
		return InFlight{}, err
	})
}
