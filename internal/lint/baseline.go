package lint

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
)

const mostBaseline = 64 << 20 // bytes

// A baseline is findings that were there already. It knows them by rule, file and the text of the line, so that they stay known
// when lines above them change.
type baseline struct {
	Schema   string         `json:"schema"`
	Kind     string         `json:"kind"`
	Findings map[string]int `json:"findings"` // how many of each
}

func (r *Report) keys(root string) []string {
	keys := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		file := f.File
		if absolute, err := filepath.Abs(file); err == nil {
			if relative, err := filepath.Rel(root, absolute); err == nil {
				file = relative
			}
		}
		text := cmp.Or(f.text, f.Message)
		sum := sha256.Sum256([]byte(text))
		keys[i] = fmt.Sprintf("%s %s %x", f.Rule, filepath.ToSlash(file), sum[:8])
	}
	return keys
}

// Subtract takes out what the baseline in a file holds. Where the file does not exist it is written with all findings, and
// made is true.
func (r *Report) Subtract(file, root string) (made bool, err error) {
	text, err := files.Read(file, mostBaseline)
	if errors.Is(err, fs.ErrNotExist) {
		return true, r.keep(file, root)
	}
	if err != nil {
		return false, err
	}
	var b baseline
	if err := json.Unmarshal(text, &b); err != nil || b.Kind != "lint-baseline" {
		return false, fmt.Errorf("%s is no baseline of moonlap lint: remove it, and it is written anew", file)
	}
	var left []Finding
	for i, key := range r.keys(root) {
		if b.Findings[key] > 0 {
			b.Findings[key]--
			r.Known++
		} else {
			left = append(left, r.Findings[i])
		}
	}
	r.Findings = append([]Finding{}, left...)
	return false, nil
}

func (r *Report) keep(file, root string) error {
	b := baseline{Schema: record.Schema, Kind: "lint-baseline", Findings: map[string]int{}}
	for _, key := range r.keys(root) {
		b.Findings[key]++
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	r.Known, r.Findings = len(r.Findings), []Finding{}
	return files.Write(file, append(text, '\n'), 0o644)
}
