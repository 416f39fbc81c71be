package store

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
)

// Yardsticks are the best times seen on a machine, by day and kind, in ns. Days are dropped after two weeks, so that a
// machine that became slower for good, or a best that was measured wrong, is forgotten.
type Yardsticks struct {
	Schema string                        `json:"schema"`
	Kind   string                        `json:"kind"`
	Days   map[string]map[string]float64 `json:"days"` // "2026-11-23" → kind → ns

	file string
	now  time.Time
}

const (
	yardstickDays  = 14
	mostYardsticks = 1 << 16 // bytes of a file
	// yardstickPieces changes when the pieces of work in lua/moonlap/bench/yardstick.lua do: a best is of one of them.
	yardstickPieces = 1
)

// ReadYardsticks are those of this machine. Where there are none, or the file is of no use, the machine is a new one; so
// is one that moved to another CPU. Nothing fails for their sake.
func ReadYardsticks(e record.Environment, now time.Time) *Yardsticks {
	y := &Yardsticks{Schema: record.Schema, Kind: "yardsticks", Days: map[string]map[string]float64{}, now: now}
	cache, err := os.UserCacheDir()
	if err != nil {
		return y
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %s %s", yardstickPieces, e.Machine, e.CPU, e.Arch, e.Virtualization))
	y.file = filepath.Join(cache, "moonlap", fmt.Sprintf("yardsticks-%x.json", sum[:8]))
	text, err := files.Read(y.file, mostYardsticks)
	var kept Yardsticks
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Days == nil {
		return y
	}
	y.Days = kept.Days
	y.forget()
	return y
}

// forget drops the days that are too old, or lie in a future that a wrong clock had.
func (y *Yardsticks) forget() {
	date := func(days int) string { return y.now.UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	maps.DeleteFunc(y.Days, func(day string, _ map[string]float64) bool { return day < date(-yardstickDays) || day > date(0) })
}

// Best is the best of all days, by kind; nil where nothing was seen.
func (y *Yardsticks) Best() map[string]float64 {
	var best map[string]float64
	for _, day := range y.Days {
		for kind, ns := range day {
			if best == nil {
				best = map[string]float64{}
			}
			if ns > 0 && (best[kind] == 0 || ns < best[kind]) {
				best[kind] = ns
			}
		}
	}
	return best
}

// From is the day of the oldest that is kept, "" where there is none.
func (y *Yardsticks) From() string {
	days := slices.Sorted(maps.Keys(y.Days))
	if len(days) == 0 {
		return ""
	}
	return days[0]
}

// Keep adds what a run saw.
func (y *Yardsticks) Keep(seen map[string]float64) error {
	today := y.now.UTC().Format(time.DateOnly)
	better := false
	for kind, ns := range seen {
		if before := y.Days[today][kind]; ns > 0 && (before <= 0 || ns < before) {
			if y.Days[today] == nil {
				y.Days[today] = map[string]float64{}
			}
			y.Days[today][kind], better = ns, true
		}
	}
	if !better || y.file == "" {
		return nil
	}
	text, err := json.MarshalIndent(y, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(y.file), 0o755); err != nil {
		return err
	}
	return files.Write(y.file, append(text, '\n'), files.Shared)
}
