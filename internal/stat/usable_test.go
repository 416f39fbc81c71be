package stat

import (
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/steady"
)

func TestDisturbedAllTheTimeIsNotUnsteady(t *testing.T) {
	batches := make([]steady.Batch, 100)
	for i := range batches {
		batches[i] = steady.Batch{NS: 100 + float64(i*i%37), Polluted: i%10 != 0}
	}
	got := steady.FindSteady(batches)
	if got.Class != record.SteadyFlat || !got.TooFew {
		t.Errorf("10 clean batches of 100: %q, too few: %v; want flat and too few", got.Class, got.TooFew)
	}
	for i := range batches {
		batches[i].Polluted = false
		batches[i].NS = 100 + float64(i)
	}
	if got := steady.FindSteady(batches); got.Class != record.SteadyNone {
		t.Errorf("a drift in clean batches: %q, want none", got.Class)
	}
}
