package load

import (
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// TestErrorsInWords: each kind of error has its own reason, the most frequent one, and no other kind's.
func TestErrorsInWords(t *testing.T) {
	rec := &record.Record{}
	rec.Load.Errors = []record.LoadError{
		{Side: 0, Kind: "refused", Text: "Connection refused", Count: 27},
		{Side: 0, Kind: "protocol", Text: "a header is too long", Count: 9},
		{Side: 0, Kind: "protocol", Text: "Content-Length is no number", Count: 6},
		{Side: 1, Kind: "protocol", Text: "of the other side", Count: 90},
	}
	got := withErrors(record.LoadErrors{Refused: 27, Protocol: 15, Status: 3}, saidOf(rec, 0))
	const want = ": 27 connections refused (Connection refused), 15 answers that are no HTTP (a header is too long), 3 answers with status 400 or above"
	if got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}
